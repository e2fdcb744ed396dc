//! Attributes from and to Python's numbers, texts and lists.

use opforge::{Error, Scalar};
use opforge_custom::{Attribute, collect};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{Borrowed, IntoPyObjectExt};

use crate::binding::scalar;
use crate::error::raise;

/// The object as an attribute, if it is a number, a text, or a list of numbers or of lists of numbers.
fn value(object: Borrowed<'_, '_, PyAny>) -> Option<Attribute> {
    if let Ok(text) = object.cast::<PyString>() {
        return Some(Attribute::Text(text.to_string()));
    }
    if object.cast::<PyList>().is_ok() || object.cast::<PyTuple>().is_ok() {
        let items: Option<Vec<Attribute>> =
            object.try_iter().ok()?.map(|item| value(item.ok()?.as_borrowed())).collect();
        return collect(&items?);
    }
    Some(match scalar(object)? {
        Scalar::Bool(b) => Attribute::Bool(b),
        Scalar::Int(i) => Attribute::Int(i),
        Scalar::Float(x) => Attribute::Float(x as f32),
        Scalar::UInt(_) | Scalar::Complex(..) => return None,
    })
}

/// The object as an attribute of an operator.
pub fn extract(op: &str, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Attribute> {
    value(object.as_borrowed()).ok_or_else(|| {
        let given = object.repr().map_or_else(|_| "an object".to_owned(), |text| text.to_string());
        let accepted = "a bool, int, float, str, a list of ints or floats, or a list of such lists";
        raise(object.py(), &Error::value(op.to_owned(), name.to_owned(), given, accepted))
    })
}

/// A dictionary as attributes.
pub fn extract_all(op: &str, dict: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Attribute)>> {
    let pair = |(name, object): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        Ok((name.clone(), extract(op, &name, &object)?))
    };
    dict.iter().map(pair).collect()
}

/// An attribute as Python's object.
fn object(py: Python<'_>, attribute: &Attribute) -> PyResult<Py<PyAny>> {
    match attribute {
        Attribute::Bool(value) => value.into_py_any(py),
        Attribute::Int(value) => value.into_py_any(py),
        Attribute::Float(value) => value.into_py_any(py),
        Attribute::Text(value) => value.into_py_any(py),
        Attribute::Ints(value) => value.into_py_any(py),
        Attribute::Floats(value) => value.into_py_any(py),
        Attribute::IntRows(value) => value.into_py_any(py),
        Attribute::FloatRows(value) => value.into_py_any(py),
    }
}

/// Attributes as a dictionary.
pub fn dict<'a, 'py>(
    py: Python<'py>,
    attributes: impl Iterator<Item = (&'a str, &'a Attribute)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in attributes {
        dict.set_item(name, object(py, value)?)?;
    }
    Ok(dict)
}
