//! Conversions from dynamic values to the Rust types of parameters.

use opforge_core::Scalar;

use super::{Type, Value};
use crate::arguments::Operand;
use crate::{DType, Device, Error, Generator, Result, Tensor};

/// A Rust parameter type that a [`Value`] converts to.
pub trait Argument<'a>: Sized {
    /// The type as data.
    const TYPE: Type;
    /// The value as this type, if it is one.
    fn from_value(value: &'a Value) -> Option<Self>;
    /// As a value: for defaults.
    fn into_value(self) -> Value;
    /// The value as this type, or an error that names function and parameter.
    fn take(function: &'static str, param: &'static str, value: Option<&'a Value>) -> Result<Self> {
        let value = value.unwrap_or(&Value::None);
        Self::from_value(value).ok_or_else(|| match value {
            Value::Scalar(Scalar::Int(i)) => Error::value(function, param, i, "a whole number of 0 or more"),
            other => Error::dtype(function, param, format!("{other:?}"), Self::TYPE),
        })
    }
}

macro_rules! arguments {
    ($($ty:ty => $tag:ident, $pattern:pat => $value:expr, $this:ident => $into:expr;)*) => {
        $(impl<'a> Argument<'a> for $ty {
            const TYPE: Type = Type::$tag;
            #[inline]
            fn from_value(value: &'a Value) -> Option<Self> {
                #[allow(unreachable_patterns)]
                match value { $pattern => $value, _ => None }
            }
            fn into_value(self) -> Value {
                let $this = self;
                $into
            }
        })*
    };
}

arguments!(
    &'a Tensor => Tensor, Value::Tensor(t) => Some(t), t => Value::Tensor(t.clone());
    &'a [Tensor] => Tensors, Value::Tensors(t) => Some(t), t => Value::Tensors(t.to_vec());
    &'a [Option<Tensor>] => OptionalTensors, Value::OptionalTensors(t) => Some(t), t => Value::OptionalTensors(t.to_vec());
    Scalar => Scalar, Value::Scalar(s) => Some(*s), s => Value::Scalar(s);
    i64 => Int, Value::Scalar(Scalar::Int(i)) => Some(*i), i => Value::Scalar(Scalar::Int(i));
    usize => Int, Value::Scalar(Scalar::Int(i)) => usize::try_from(*i).ok(), i => Value::Scalar(Scalar::Int(i as i64));
    f64 => Float, Value::Scalar(s) => (!matches!(s, Scalar::Complex(..))).then(|| s.to_f64()), v => Value::Scalar(Scalar::Float(v));
    bool => Bool, Value::Scalar(Scalar::Bool(b)) => Some(*b), b => Value::Scalar(Scalar::Bool(b));
    &'a [i64] => Ints, Value::Ints(v) => Some(v), v => Value::Ints(v.to_vec());
    &'a [f64] => Floats, Value::Floats(v) => Some(v), v => Value::Floats(v.to_vec());
    DType => DType, Value::DType(d) => Some(*d), d => Value::DType(d);
    Device => Device, Value::Device(d) => Some(*d), d => Value::Device(d);
    Generator => Generator, Value::Generator(g) => Some(g.clone()), g => Value::Generator(g);
    Operand<'a> => Operand, value => match value {
        Value::Tensor(t) => Some(Operand::Tensor(t)),
        Value::Scalar(s) => Some(Operand::Scalar(*s)),
        _ => None,
    }, operand => match operand {
        Operand::Tensor(t) => Value::Tensor(t.clone()),
        Operand::Scalar(s) => Value::Scalar(s),
    };
    &'a str => Text, Value::Text(s) => Some(s), s => Value::Text(s.to_owned());
);

impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    const TYPE: Type = Type::Optional(&T::TYPE);
    #[inline]
    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::None => Some(None),
            given => T::from_value(given).map(Some),
        }
    }
    fn into_value(self) -> Value {
        self.map_or(Value::None, T::into_value)
    }
}
