//! Why a call fits no signature.

use std::fmt::Write;

use opforge::declaration::Type;
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::bind::Arguments;
use super::signature::{Signature, type_name};
use crate::device;
use crate::error::raise;
use crate::tensor::PyTensor;

/// Why arguments do not fit a signature. Parameters are named by their places.
#[derive(Debug)]
pub enum Mismatch {
    Missing { param: usize },
    Type { param: usize },
    Twice { param: usize },
    TooMany { given: usize, most: usize },
    Unexpected { name: String },
}

impl Mismatch {
    fn text(&self, name: &str, signature: &Signature, args: &Arguments<'_, '_>) -> String {
        let param = |i: usize| &signature.params[i];
        match self {
            Mismatch::Missing { param: i } => format!("{name}(): missing required argument '{}'", param(*i).name),
            Mismatch::Twice { param: i } => format!("{name}(): got multiple values for argument '{}'", param(*i).name),
            Mismatch::TooMany { given, most } => {
                format!("{name}(): takes {most} positional arguments but {given} were given")
            }
            Mismatch::Unexpected { name: key } => format!("{name}(): got an unexpected keyword argument '{key}'"),
            Mismatch::Type { param: i } => {
                let param = param(*i);
                let given = args.by_name(param.name).or_else(|| (*i < args.count()).then(|| args.at(*i)));
                let given = given.map_or_else(String::new, |given| format!(", not {}", describe(given)));
                let (place, accepted) = (i + 1, type_name(param.ty));
                format!("{name}(): argument '{}' (position {place}) must be {accepted}{given}", param.name)
            }
        }
    }
}

/// The TypeError for a call that fits no signature: what was given, what would be accepted.
#[cold]
pub fn explain(name: &str, failures: &[(&Signature, Mismatch)], args: &Arguments<'_, '_>) -> PyErr {
    if let Some(error) = unknown_device(failures, args) {
        return error;
    }
    let mut text = match failures {
        [(signature, mismatch)] => mismatch.text(name, signature, args),
        _ => format!("{name}(): received an invalid combination of arguments"),
    };
    let positional = (0..args.count()).map(|i| describe(args.at(i)));
    let named = args.named().map(|(key, value)| format!("{}={}", key.to_owned(), describe(value)));
    let given: Vec<String> = positional.chain(named).collect();
    let _ = write!(text, "\n  given: ({})\n  accepted:", given.join(", "));
    for (signature, mismatch) in failures {
        let _ = write!(text, "\n    {signature}");
        if failures.len() > 1 {
            let _ = write!(text, "\n      {}", mismatch.text(name, signature, args));
        }
    }
    PyTypeError::new_err(text)
}

/// The error of a device that there is not, if that is why.
fn unknown_device(failures: &[(&Signature, Mismatch)], args: &Arguments<'_, '_>) -> Option<PyErr> {
    failures.iter().find_map(|(signature, mismatch)| {
        let Mismatch::Type { param } = mismatch else { return None };
        let param = &signature.params[*param];
        if !matches!(param.ty, Type::Device | Type::Optional(Type::Device)) {
            return None;
        }
        let value = args.by_name(param.name)?;
        Some(raise(value.py(), &device::named(value)?.err()?))
    })
}

/// An argument as error messages show it: its type; of tensors also shape and dtype, of short numbers and texts the value.
pub fn describe(object: Borrowed<'_, '_, PyAny>) -> String {
    if let Ok(tensor) = object.cast::<PyTensor>() {
        let tensor = PyTensor::of(&tensor);
        return format!("Tensor{:?} of {}", tensor.dims(), tensor.dtype().long_name());
    }
    if object.is_none() {
        return "None".into();
    }
    let class = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    let simple = matches!(class.as_str(), "int" | "float" | "bool" | "str" | "tuple" | "list");
    match object.repr() {
        Ok(repr) if simple && repr.len().is_ok_and(|n| n <= 40) => format!("{class} {repr}"),
        _ => class,
    }
}
