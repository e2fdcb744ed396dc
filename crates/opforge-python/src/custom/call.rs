//! From Python's arguments to tensors and attributes.

use opforge::{DType, Error, Tensor};
use opforge_custom::{Attribute, Lengths, ParamKind, Schema};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use super::{PyCustomOp, attribute, rules};
use crate::dtype;
use crate::error::{OrRaise, raise};
use crate::front_end;
use crate::tensor::PyTensor;

type Tensors = SmallVec<[Tensor; 4]>;
type Named = Vec<(String, Attribute)>;

#[pymethods]
impl PyCustomOp {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        if self.reload {
            self.reload(py)?;
        }
        let op = self.op.get(py);
        let (tensors, attributes) = match op.schema() {
            Some(schema) => by_schema(op.name(), schema, args, kwargs)?,
            None => by_position(op.name(), &self.positional, args, kwargs)?,
        };
        let inputs: SmallVec<[&Tensor; 4]> = tensors.iter().collect();
        let mut outputs = front_end::called(|| op.apply_with(&inputs, &attributes)).or_raise(py)?;
        match outputs.len() {
            0 => return Ok(py.None()),
            1 if !self.several.get() => return same_object(py, args, outputs.swap_remove(0)),
            _ => {}
        }
        let objects = outputs.into_iter().map(|output| same_object(py, args, output)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, objects)?.into_any().unbind())
    }

    /// The outputs' shapes and dtypes for inputs of these; None stands for a length, and a shape of None for a shape, that is not known.
    #[pyo3(signature = (*inputs, **attributes))]
    fn infer<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        attributes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<(Py<PyAny>, Py<PyAny>)>> {
        let op = self.op.get(py);
        let input = |pair: Bound<'py, PyAny>| -> PyResult<(Lengths, DType)> {
            let (shape, dtype): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            let dtype = rules::dtype_of("infer", &dtype)?;
            Ok((rules::lengths(&shape)?, dtype))
        };
        let inputs = inputs.iter().map(input).collect::<PyResult<Vec<_>>>()?;
        let attributes = attributes.map_or(Ok(Named::new()), |dict| attribute::extract_all(op.name(), dict))?;
        let outputs = op.infer(&inputs, &attributes).or_raise(py)?;
        let object = |(shape, dtype): (Lengths, DType)| {
            let shape = if shape == [-2] { py.None() } else { shape.into_py_any(py)? };
            Ok((shape, dtype::object(py, dtype)?.into_any()))
        };
        outputs.into_iter().map(object).collect()
    }
}

/// Tensors, then the attributes of these names that are given by position; others by name.
fn by_position(
    op: &'static str,
    names: &[String],
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Tensors, Named)> {
    let (mut tensors, mut attributes) = (Tensors::new(), Named::new());
    for object in args.iter() {
        if let (Ok(tensor), true) = (object.cast::<PyTensor>(), attributes.is_empty()) {
            tensors.push(PyTensor::of(tensor));
        } else if let Some(name) = names.get(attributes.len()) {
            attributes.push((name.clone(), attribute::extract(op, name, &object)?));
        } else {
            return Err(wrong_argument(op, tensors.len() + attributes.len(), &object));
        }
    }
    if let Some(kwargs) = kwargs {
        attributes.extend(attribute::extract_all(op, kwargs)?);
    }
    Ok((tensors, attributes))
}

/// A result that is one of the arguments, changed in place, is the same object.
fn same_object(py: Python<'_>, args: &Bound<'_, PyTuple>, output: Tensor) -> PyResult<Py<PyAny>> {
    if output.storage().version() == 0 {
        return PyTensor::wrap(py, output);
    }
    let is_output = |arg: &Bound<'_, PyAny>| arg.cast().is_ok_and(|arg| PyTensor::of(arg).id() == output.id());
    match args.iter().find(is_output) {
        Some(arg) => Ok(arg.unbind()),
        None => PyTensor::wrap(py, output),
    }
}

/// Arguments as the schema names them.
fn by_schema(
    op: &'static str,
    schema: &Schema,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Tensors, Named)> {
    let mut positional = args.iter();
    let (mut tensors, mut attributes) = (Tensors::new(), Named::new());
    let mut named = 0;
    for param in &schema.params {
        let by_name = kwargs.map(|kwargs| kwargs.get_item(&param.name)).transpose()?.flatten();
        let by_place = if param.keyword_only { None } else { positional.next() };
        if by_name.is_some() && by_place.is_some() {
            return Err(PyTypeError::new_err(format!("{op}() got two values for argument '{}'", param.name)));
        }
        named += usize::from(by_name.is_some());
        match (&param.kind, by_place.or(by_name)) {
            (ParamKind::Tensor { .. }, Some(object)) => match object.cast::<PyTensor>() {
                Ok(tensor) => tensors.push(PyTensor::of(tensor)),
                Err(_) => {
                    let (name, given) = (&param.name, class(&object));
                    return Err(PyTypeError::new_err(format!("{op}(): argument '{name}' must be Tensor, not {given}")));
                }
            },
            (ParamKind::Attribute { .. }, Some(object)) => {
                attributes.push((param.name.clone(), attribute::extract(op, &param.name, &object)?));
            }
            (ParamKind::Tensor { .. }, None) => {
                return Err(PyTypeError::new_err(format!("{op}() misses argument '{}': {op}{schema}", param.name)));
            }
            (ParamKind::Attribute { .. }, None) => {}
        }
    }
    let unknown = kwargs.map_or(0, PyDictMethods::len) - named;
    if positional.next().is_some() || unknown > 0 {
        return Err(PyTypeError::new_err(format!("{op}() got arguments that it does not have: {op}{schema}")));
    }
    Ok((tensors, attributes))
}

fn class(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

fn wrong_argument(op: &'static str, position: usize, object: &Bound<'_, PyAny>) -> PyErr {
    let accepted = "tensors, then the attributes that are declared positional; other attributes by name";
    raise(object.py(), &Error::dtype(op, format!("argument {position}"), class(object), accepted))
}
