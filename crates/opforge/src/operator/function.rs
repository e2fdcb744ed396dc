//! Functions as data: the signature that an operator's file declares once, for bindings, stubs and reference pages.

use opforge_core::Scalar;

use crate::functional::Operand;
use crate::{DType, Device, Error, Result, Tensor};

/// A functional-layer function: its declared signature, its documentation, and a way to call it with dynamic values.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The name.
    pub name: &'static str,
    /// The documentation, in Markdown.
    pub doc: &'static str,
    /// The parameters in order.
    pub params: &'static [Param],
    /// What it returns, as Rust spells it: `Tensor`, `(Tensor, Tensor)`, ..
    pub returns: &'static str,
    /// Calls it with one value a parameter.
    pub call: fn(&[Value]) -> Result<Value>,
}

/// A parameter of a [`Function`].
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The name.
    pub name: &'static str,
    /// What it takes.
    pub ty: Type,
    /// The default as the signature spells it.
    pub default: Option<&'static str>,
    /// Whether it must be given by name.
    pub keyword_only: bool,
}

/// The types that parameters may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    Tensor,
    Tensors,
    /// A tensor or a number.
    Operand,
    Scalar,
    Int,
    Float,
    Bool,
    Ints,
    DType,
    Device,
    Text,
    Optional(&'static Type),
}

/// A dynamic argument or result.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Value {
    None,
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
    Scalar(Scalar),
    Ints(Vec<i64>),
    DType(DType),
    Device(Device),
    Text(String),
}

impl std::fmt::Display for Function {
    /// The signature: `sum(input: Tensor, dim: Ints? = None, keepdim: Bool = false, *, dtype: DType? = None) -> Tensor`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(", self.name)?;
        let mut by_name = false;
        for (i, param) in self.params.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let star =
                if param.keyword_only && !std::mem::replace(&mut by_name, param.keyword_only) { "*, " } else { "" };
            write!(f, "{comma}{star}{}: {}", param.name, param.ty)?;
            if let Some(default) = param.default {
                write!(f, " = {default}")?;
            }
        }
        write!(f, ") -> {}", self.returns)
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Optional(inner) => write!(f, "{inner}?"),
            plain => write!(f, "{plain:?}"),
        }
    }
}

/// A Rust parameter type that a [`Value`] converts to.
pub trait Argument<'a>: Sized {
    /// The type as data.
    const TYPE: Type;
    /// The value as this type, if it is one.
    fn from_value(value: &'a Value) -> Option<Self>;
    /// The value as this type, or an error that names function and parameter.
    fn take(function: &'static str, param: &'static str, value: Option<&'a Value>) -> Result<Self> {
        let value = value.unwrap_or(&Value::None);
        Self::from_value(value).ok_or_else(|| Error::dtype(function, param, format!("{value:?}"), Self::TYPE))
    }
}

macro_rules! arguments {
    ($($ty:ty => $tag:ident, $pattern:pat => $value:expr;)*) => {
        $(impl<'a> Argument<'a> for $ty {
            const TYPE: Type = Type::$tag;
            fn from_value(value: &'a Value) -> Option<Self> {
                #[allow(unreachable_patterns)]
                match value { $pattern => $value, _ => None }
            }
        })*
    };
}

arguments!(
    &'a Tensor => Tensor, Value::Tensor(t) => Some(t);
    &'a [Tensor] => Tensors, Value::Tensors(t) => Some(t);
    Scalar => Scalar, Value::Scalar(s) => Some(*s);
    i64 => Int, Value::Scalar(Scalar::Int(i)) => Some(*i);
    usize => Int, Value::Scalar(Scalar::Int(i)) => usize::try_from(*i).ok();
    f64 => Float, Value::Scalar(s) => (!matches!(s, Scalar::Complex(..))).then(|| s.to_f64());
    bool => Bool, Value::Scalar(Scalar::Bool(b)) => Some(*b);
    &'a [i64] => Ints, Value::Ints(v) => Some(v);
    DType => DType, Value::DType(d) => Some(*d);
    Device => Device, Value::Device(d) => Some(*d);
    Operand<'a> => Operand, value => match value {
        Value::Tensor(t) => Some(Operand::Tensor(t)),
        Value::Scalar(s) => Some(Operand::Scalar(*s)),
        _ => None,
    };
    &'a str => Text, Value::Text(s) => Some(s);
);

impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    const TYPE: Type = Type::Optional(&T::TYPE);
    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::None => Some(None),
            given => T::from_value(given).map(Some),
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Self {
        Value::Tensor(t)
    }
}
impl From<(Tensor, Tensor)> for Value {
    fn from((a, b): (Tensor, Tensor)) -> Self {
        Value::Tensors(vec![a, b])
    }
}
impl From<(Tensor, Tensor, Tensor)> for Value {
    fn from((a, b, c): (Tensor, Tensor, Tensor)) -> Self {
        Value::Tensors(vec![a, b, c])
    }
}
impl From<Vec<Tensor>> for Value {
    fn from(t: Vec<Tensor>) -> Self {
        Value::Tensors(t)
    }
}

/// Declares a function once: emits it as written, and beside it `FUNCTION`, its signature as data.
///
/// `pub fn name(a: T, b: U = default; keyword_only: V = default) -> Result<R> { .. }`
#[macro_export]
macro_rules! function {
    (
        $(#[doc = $doc:literal])*
        pub fn $name:ident(
            $($arg:ident: $ty:ty $(= $default:expr)?),* $(,)?
            $(; $($kw:ident: $kw_ty:ty $(= $kw_default:expr)?),* $(,)?)?
        ) -> Result<$ret:ty> $body:block
    ) => {
        $(#[doc = $doc])*
        #[track_caller]
        pub fn $name($($arg: $ty,)* $($($kw: $kw_ty,)*)?) -> $crate::Result<$ret> $body

        #[doc = concat!("The signature of [`", stringify!($name), "`](fn@", stringify!($name), ") as data.")]
        pub const FUNCTION: $crate::operator::Function = $crate::operator::Function {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            params: &[
                $($crate::function!(@param $arg, $ty, false $(, $default)?),)*
                $($($crate::function!(@param $kw, $kw_ty, true $(, $kw_default)?),)*)?
            ],
            returns: stringify!($ret),
            call: |values| {
                let mut values = values.iter();
                $name(
                    $($crate::operator::Argument::take(stringify!($name), stringify!($arg), values.next())?,)*
                    $($($crate::operator::Argument::take(stringify!($name), stringify!($kw), values.next())?,)*)?
                ).map(Into::into)
            },
        };
    };
    (@param $arg:ident, $ty:ty, $keyword_only:literal) => {
        $crate::operator::Param {
            name: stringify!($arg),
            ty: <$ty as $crate::operator::Argument>::TYPE,
            default: None,
            keyword_only: $keyword_only,
        }
    };
    (@param $arg:ident, $ty:ty, $keyword_only:literal, $default:expr) => {
        $crate::operator::Param {
            name: stringify!($arg),
            ty: <$ty as $crate::operator::Argument>::TYPE,
            default: Some(stringify!($default)),
            keyword_only: $keyword_only,
        }
    };
}
