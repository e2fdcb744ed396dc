//! The structure of arguments, which is part of what tells kinds of calls apart.

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::tensor::PyTensor;

/// Containers in one another, at most.
const DEPTH: usize = 256;

/// The key of a value's structure, as `graph/_tree.py` tells it; tensors are added to a list, in order. The function `other` gives the keys of what is
/// neither a tensor, nor a plain value, nor exactly a tuple, list or dictionary; it gets the depth too.
///
/// Raises RecursionError for containers that are deeper than any that a program has, or in themselves.
#[pyfunction]
pub fn _structure_key<'py>(
    value: &Bound<'py, PyAny>,
    tensors: &Bound<'py, PyList>,
    other: &Bound<'py, PyAny>,
    depth: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if depth == DEPTH {
        return Err(PyRecursionError::new_err(format!(
            "an argument is a container of more than {DEPTH} in one another"
        )));
    }
    let key = |item: &Bound<'py, PyAny>| _structure_key(item, tensors, other, depth + 1);
    let content = if value.is_exact_instance_of::<PyTensor>() {
        tensors.append(value)?;
        return Ok(value.get_type().into_any());
    } else if let Ok(items) = value.cast_exact::<PyTuple>() {
        PyTuple::new(py, items.iter().map(|item| key(&item)).collect::<PyResult<Vec<_>>>()?)?.into_any()
    } else if let Ok(items) = value.cast_exact::<PyList>() {
        PyTuple::new(py, items.iter().map(|item| key(&item)).collect::<PyResult<Vec<_>>>()?)?.into_any()
    } else if let Ok(items) = value.cast_exact::<PyDict>() {
        let items = items.iter().map(|(name, item)| (name, key(&item)?).into_pyobject(py));
        PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
    } else if is_plain(value) {
        told_apart(value)?
    } else {
        return other.call1((value, depth));
    };
    Ok((value.get_type(), content).into_pyobject(py)?.into_any())
}

/// Whether a value is told from others by its class and itself.
pub(super) fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyComplex>()
}

/// A plain value, or the text of a number with zeros below 0, which are equal to others.
fn told_apart<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_below = |x: f64| x == 0.0 && x.is_sign_negative();
    let differs = match (value.cast::<PyFloat>(), value.cast::<PyComplex>()) {
        (Ok(float), _) => is_below(float.value()),
        (_, Ok(number)) => is_below(number.real()) || is_below(number.imag()),
        _ => false,
    };
    if differs { Ok(value.repr()?.into_any()) } else { Ok(value.clone()) }
}
