//! Declared functions made ready for calls from Python.

use std::fmt;

use opforge::Scalar;
use opforge::declaration::{Function, Type, Value};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use super::bind::Values;
use super::entry::Form;
use super::results;

/// A declared function, made ready for calls from Python.
pub struct Signature {
    pub function: &'static Function,
    pub params: Vec<Parameter>,
    /// How many parameters may be given by position.
    pub positional: usize,
    /// The class of the named tuple that it returns, if it does.
    pub results: Option<Py<PyType>>,
    /// Whether the last positional parameter is `inplace`, which the function itself does not have.
    pub inplace: bool,
    /// Whether the function has a parameter `inplace`.
    pub has_inplace: bool,
}

pub struct Parameter {
    pub name: &'static str,
    /// The interned name: keywords that are written in a program are the same object.
    pub key: Py<PyString>,
    pub ty: Type,
    pub default: Option<Value>,
}

impl Parameter {
    fn new(py: Python<'_>, name: &'static str, ty: Type, default: Option<Value>) -> Self {
        Parameter { name, key: PyString::intern(py, name).unbind(), ty, default }
    }
}

impl Signature {
    pub fn new(py: Python<'_>, function: &'static Function) -> PyResult<Self> {
        let params = function.params.iter().map(|p| {
            let none = || matches!(p.ty, Type::Optional(_)).then_some(Value::None);
            Parameter::new(py, p.name, p.ty, p.default.map(|d| d.value.value()).or_else(none))
        });
        Ok(Signature {
            function,
            params: params.collect(),
            positional: function.params.iter().filter(|p| !p.keyword_only).count(),
            results: results::class(py, function)?,
            inplace: false,
            has_inplace: function.params.iter().any(|p| p.name == "inplace"),
        })
    }

    /// The function with a last positional parameter `inplace`, as functions of `nn.functional` have it.
    pub fn with_inplace(py: Python<'_>, function: &'static Function) -> PyResult<Self> {
        let mut signature = Self::new(py, function)?;
        let param = Parameter::new(py, "inplace", Type::Bool, Some(false.into()));
        signature.params.insert(signature.positional, param);
        (signature.positional, signature.inplace) = (signature.positional + 1, true);
        Ok(signature)
    }

    /// The form that a call asks for; takes the value of `inplace` out.
    pub fn take_form(&self, form: Form, values: &mut Values) -> Form {
        if !self.inplace {
            return form;
        }
        match values.remove(self.positional - 1) {
            Value::Scalar(Scalar::Bool(true)) => Form::InPlace,
            _ => form,
        }
    }
}

/// What a type is called in messages, and its annotation in stubs; of an optional one, those of what it holds.
fn names(ty: Type) -> (&'static str, &'static str) {
    match ty {
        Type::Tensor => ("Tensor", "Tensor"),
        Type::Tensors => ("sequence of Tensors", "Sequence[Tensor]"),
        Type::OptionalTensors => ("sequence of Tensors or None", "Sequence[Tensor | None]"),
        Type::Operand => ("Tensor or Number", "Tensor | Number"),
        Type::Scalar => ("Number", "Number"),
        Type::Int => ("int", "int"),
        Type::Float => ("float", "float"),
        Type::Bool => ("bool", "bool"),
        Type::Ints => ("int or sequence of ints", "int | Sequence[int]"),
        Type::Floats => ("sequence of floats", "Sequence[float]"),
        Type::DType => ("dtype", "dtype"),
        Type::Device => ("device", "device | str"),
        Type::Generator => ("Generator", "Generator"),
        Type::Text => ("str", "str"),
        Type::Optional(inner) => names(*inner),
    }
}

/// The name of a type as Python's users know it.
pub fn type_name(ty: Type) -> String {
    format!("{}{}", names(ty).0, if matches!(ty, Type::Optional(_)) { " or None" } else { "" })
}

/// A type as a Python annotation.
pub fn annotation(ty: Type) -> String {
    format!("{}{}", names(ty).1, if matches!(ty, Type::Optional(_)) { " | None" } else { "" })
}

/// A default as Python spells it.
pub fn python_default(value: &Value) -> String {
    match value {
        Value::None => "None".into(),
        Value::Scalar(Scalar::Bool(true)) => "True".into(),
        Value::Scalar(Scalar::Bool(false)) => "False".into(),
        Value::Scalar(Scalar::Int(i)) => i.to_string(),
        Value::Scalar(Scalar::UInt(u)) => u.to_string(),
        Value::Scalar(Scalar::Float(x)) if x.is_infinite() => {
            format!("float('{}inf')", if *x < 0.0 { "-" } else { "" })
        }
        Value::Scalar(Scalar::Float(x)) => format!("{x:?}"),
        Value::Scalar(Scalar::Complex(re, im)) => format!("complex({re:?}, {im:?})"),
        Value::Ints(ints) => python_tuple(ints.iter().map(i64::to_string)),
        Value::Floats(floats) => python_tuple(floats.iter().map(|x| format!("{x:?}"))),
        Value::Text(text) => format!("'{text}'"),
        Value::DType(dtype) => dtype.long_name().into(),
        Value::Device(device) => format!("'{device}'"),
        Value::Tensor(_) | Value::Tensors(_) | Value::OptionalTensors(_) | Value::Generator(_) => "...".into(),
    }
}

fn python_tuple(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    let comma = if items.len() == 1 { "," } else { "" };
    format!("({}{comma})", items.join(", "))
}

impl fmt::Display for Signature {
    /// `sum(Tensor input, int or sequence of ints or None dim=None, bool keepdim=False, *, dtype or None dtype=None)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.function.python_name())?;
        for (i, param) in self.params.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let star = if i == self.positional { "*, " } else { "" };
            write!(f, "{comma}{star}{} {}", type_name(param.ty), param.name)?;
            if let Some(default) = &param.default {
                write!(f, "={}", python_default(default))?;
            }
        }
        f.write_str(")")
    }
}
