//! The declaration of an operator, in the notation that PyTorch's operators have: `(Tensor x, Tensor y, *, int axis=0) -> Tensor`.

mod parse;

pub use parse::collect;

use std::fmt;
use std::str::FromStr;

use opforge_core::{Error, Result};

use crate::attribute::{Attribute, AttributeType};

/// An operator's parameters and results.
///
/// ```
/// use opforge_custom::Schema;
/// # fn main() -> opforge::Result<()> {
/// let schema: Schema = "(Tensor x, Tensor(a!) total, *, int axis, bool keep_dim=False) -> (Tensor, Tensor(a!))".parse()?;
/// assert_eq!(schema.tensors().count(), 2);
/// assert_eq!(schema.outputs, [None, Some(1)]);
/// # Ok(())
/// # }
/// ```
///
/// Types are `Tensor`, and for attributes `bool`, `int`, `float`, `str`, `int[]`, `float[]`, `int[][]` and `float[][]`. `Tensor(a!)` is a tensor that
/// the operator changes in place; as a result it stands for the tensor with the same letter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Schema {
    /// The parameters in order.
    pub params: Vec<Param>,
    /// For each result: the tensor that it is, counted among the tensors, if it is not a new one.
    pub outputs: Vec<Option<usize>>,
    /// Whether several results are declared, which are then given as a tuple, even if there is one.
    pub several: bool,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Param {
    /// The name.
    pub name: String,
    /// What it takes.
    pub kind: ParamKind,
    /// Whether it must be given by name.
    pub keyword_only: bool,
}

/// What a parameter takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ParamKind {
    /// A tensor, which the operator may change.
    Tensor {
        /// Whether it is changed in place.
        changed: bool,
    },
    /// An attribute.
    Attribute {
        /// Its type.
        ty: AttributeType,
        /// Its value when it is left out.
        default: Option<Attribute>,
    },
}

impl Schema {
    /// The tensors' names, and whether each is changed in place.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, bool)> {
        self.params.iter().filter_map(|param| match param.kind {
            ParamKind::Tensor { changed } => Some((param.name.as_str(), changed)),
            ParamKind::Attribute { .. } => None,
        })
    }

    /// The attributes' names, types and defaults.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, AttributeType, Option<&Attribute>)> {
        self.params.iter().filter_map(|param| match &param.kind {
            ParamKind::Attribute { ty, default } => Some((param.name.as_str(), *ty, default.as_ref())),
            ParamKind::Tensor { .. } => None,
        })
    }
}

impl FromStr for Schema {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse::schema(text)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters: Vec<usize> =
            self.tensors().enumerate().filter(|(_, (_, changed))| *changed).map(|(i, _)| i).collect();
        let alias = |tensor: usize| letters.iter().position(|&i| i == tensor).map(|n| (b'a' + n as u8) as char);
        let tensor = |letter: Option<char>| letter.map_or("Tensor".to_owned(), |letter| format!("Tensor({letter}!)"));
        let (mut seen, mut tensors) = (false, 0..);
        write!(f, "(")?;
        for (i, param) in self.params.iter().enumerate() {
            let star = if param.keyword_only && !std::mem::replace(&mut seen, param.keyword_only) { "*, " } else { "" };
            write!(f, "{}{star}", if i > 0 { ", " } else { "" })?;
            match &param.kind {
                ParamKind::Tensor { .. } => write!(f, "{} {}", tensor(tensors.next().and_then(alias)), param.name)?,
                ParamKind::Attribute { ty, default: None } => write!(f, "{ty} {}", param.name)?,
                ParamKind::Attribute { ty, default: Some(default) } => write!(f, "{ty} {}={default}", param.name)?,
            }
        }
        let outputs: Vec<String> = self.outputs.iter().map(|output| tensor(output.and_then(alias))).collect();
        if self.several { write!(f, ") -> ({})", outputs.join(", ")) } else { write!(f, ") -> {}", outputs.join(", ")) }
    }
}
