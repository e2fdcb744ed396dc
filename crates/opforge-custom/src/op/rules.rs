//! Declared rules by which the shapes and dtypes of outputs follow from those of inputs.

use std::fmt;
use std::sync::Arc;

use opforge::{DType, Result};

use crate::attribute::Attributes;

/// A shape, with -1 for a length that is not known and a single -2 for a rank that is not known.
pub type Lengths = Vec<i64>;

type ShapeFunction = dyn Fn(&[Lengths], &Attributes) -> Result<Vec<Lengths>> + Send + Sync;
type DTypeFunction = dyn Fn(&[DType], &Attributes) -> Result<Vec<DType>> + Send + Sync;

/// How the shapes of outputs follow from those of inputs.
#[derive(Clone, Default)]
pub enum ShapeRule {
    /// As the library's inference function says.
    #[default]
    Library,
    /// Each as this input's.
    Like(usize),
    /// These, always.
    Fixed(Vec<Lengths>),
    /// As a function of the inputs' shapes says, a shape for each output.
    Function(Arc<ShapeFunction>),
}

/// How the dtypes of outputs follow from those of inputs. One dtype stands for all outputs.
#[derive(Clone, Default)]
pub enum DTypeRule {
    /// As the library's inference function says; where it has none, as the first input's.
    #[default]
    Library,
    /// Each as this input's.
    Like(usize),
    /// These, always.
    Fixed(Vec<DType>),
    /// As a function of the inputs' dtypes says.
    Function(Arc<DTypeFunction>),
}

impl fmt::Debug for ShapeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeRule::Library => f.write_str("Library"),
            ShapeRule::Like(input) => write!(f, "Like({input})"),
            ShapeRule::Fixed(shapes) => write!(f, "Fixed({shapes:?})"),
            ShapeRule::Function(_) => f.write_str("Function"),
        }
    }
}

impl fmt::Debug for DTypeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DTypeRule::Library => f.write_str("Library"),
            DTypeRule::Like(input) => write!(f, "Like({input})"),
            DTypeRule::Fixed(dtypes) => write!(f, "Fixed({dtypes:?})"),
            DTypeRule::Function(_) => f.write_str("Function"),
        }
    }
}
