//! Shapes and dtypes of outputs, as values or as functions of Python's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge::{DType, Error, Result};
use opforge_custom::{DTypeRule, Lengths, ShapeRule};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::dtype;

/// Whether results come as a tuple even if there is one: known from the declaration, or from what a declared function returns.
#[derive(Clone, Default)]
pub struct Several(Arc<AtomicBool>);

impl Several {
    pub fn note(&self, several: bool) {
        if several {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A shape: lengths, with None or -1 for one that is not known; None for a shape that is not known.
pub fn lengths(object: &Bound<'_, PyAny>) -> PyResult<Lengths> {
    if object.is_none() {
        return Ok(vec![-2]);
    }
    let length = |item: Bound<'_, PyAny>| if item.is_none() { Ok(-1) } else { item.extract() };
    object.try_iter()?.map(|item| length(item?)).collect()
}

/// The dtype that an object in an option stands for.
pub fn dtype_of(option: &str, object: &Bound<'_, PyAny>) -> PyResult<DType> {
    dtype::extract(object).ok_or_else(|| PyTypeError::new_err(format!("{option}: {object} is no dtype")))
}

fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PyTuple>().is_ok() || object.cast::<PyList>().is_ok()
}

/// One shape, or a sequence of shapes.
fn shapes(object: &Bound<'_, PyAny>, several: &Several) -> PyResult<Vec<Lengths>> {
    let first = object.try_iter()?.next().transpose()?;
    let is_several = first.as_ref().is_some_and(is_sequence);
    several.note(is_several);
    if is_several { object.try_iter()?.map(|shape| lengths(&shape?)).collect() } else { Ok(vec![lengths(object)?]) }
}

/// One dtype, or a sequence of dtypes.
fn dtypes(object: &Bound<'_, PyAny>, several: &Several) -> PyResult<Vec<DType>> {
    let one = |object: &Bound<'_, PyAny>| {
        dtype::extract(object).ok_or_else(|| PyTypeError::new_err(format!("{object} is no dtype of an output")))
    };
    several.note(is_sequence(object));
    if is_sequence(object) { object.try_iter()?.map(|item| one(&item?)).collect() } else { Ok(vec![one(object)?]) }
}

/// Shapes: a number (as that input's), a shape or a sequence of them, or a function of the inputs' shapes.
pub fn shape_rule(object: Bound<'_, PyAny>, several: &Several) -> PyResult<ShapeRule> {
    if let Ok(input) = object.extract::<usize>() {
        return Ok(ShapeRule::Like(input));
    }
    if !object.is_callable() {
        return Ok(ShapeRule::Fixed(shapes(&object, several)?));
    }
    let (function, several) = (object.unbind(), several.clone());
    Ok(ShapeRule::Function(Arc::new(move |given, _| {
        in_python(|py| {
            let shapes_given = PyTuple::new(py, given)?;
            shapes(&function.bind(py).call1(shapes_given)?, &several)
        })
    })))
}

/// Dtypes: a dtype or a sequence of them, or a function of the inputs' dtypes.
pub fn dtype_rule(object: Bound<'_, PyAny>, several: &Several) -> PyResult<DTypeRule> {
    if dtype::extract(&object).is_some() || !object.is_callable() {
        return Ok(DTypeRule::Fixed(dtypes(&object, several)?));
    }
    let (function, several) = (object.unbind(), several.clone());
    Ok(DTypeRule::Function(Arc::new(move |given, _| {
        in_python(|py| {
            let args = given.iter().map(|&dtype| dtype::object(py, dtype)).collect::<PyResult<Vec<_>>>()?;
            dtypes(&function.bind(py).call1(PyTuple::new(py, args)?)?, &several)
        })
    })))
}

/// Calls Python; its exception is the error.
pub fn in_python<R>(f: impl FnOnce(Python<'_>) -> PyResult<R>) -> Result<R> {
    Python::attach(f).map_err(Error::wrap)
}
