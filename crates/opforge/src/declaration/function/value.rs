//! Types of parameters, and dynamic values of them.

use opforge_core::Scalar;

use crate::{DType, Device, Generator, Tensor};

/// The types that parameters may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    Tensor,
    Tensors,
    /// Tensors, some of which may be missing.
    OptionalTensors,
    /// A tensor or a number.
    Operand,
    Scalar,
    Int,
    Float,
    Bool,
    Ints,
    Floats,
    DType,
    Device,
    Generator,
    Text,
    Optional(&'static Type),
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Optional(inner) => write!(f, "{inner}?"),
            plain => write!(f, "{plain:?}"),
        }
    }
}

/// A dynamic argument or result.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Value {
    None,
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
    OptionalTensors(Vec<Option<Tensor>>),
    Scalar(Scalar),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    DType(DType),
    Device(Device),
    Generator(Generator),
    Text(String),
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Value::None
    }
}
impl From<Tensor> for Value {
    fn from(t: Tensor) -> Self {
        Value::Tensor(t)
    }
}
impl From<Vec<Tensor>> for Value {
    fn from(t: Vec<Tensor>) -> Self {
        Value::Tensors(t)
    }
}
impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Scalar(Scalar::Bool(b))
    }
}
impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Value::Scalar(Scalar::Int(i))
    }
}
impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Scalar(Scalar::Float(v))
    }
}
impl From<DType> for Value {
    fn from(dtype: DType) -> Self {
        Value::DType(dtype)
    }
}

macro_rules! tuples {
    ($(($($name:ident),+) => ($($ty:ty),+);)*) => {
        $(impl From<($($ty),+)> for Value {
            fn from(($($name),+): ($($ty),+)) -> Self {
                Value::Tensors(vec![$($name),+])
            }
        })*
    };
}

tuples!(
    (a, b) => (Tensor, Tensor);
    (a, b, c) => (Tensor, Tensor, Tensor);
    (a, b, c, d) => (Tensor, Tensor, Tensor, Tensor);
);
