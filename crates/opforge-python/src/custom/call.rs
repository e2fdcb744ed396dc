//! From Python's arguments to tensors and attributes.

use opforge::{DType, Error, Tensor};
use opforge_custom::{Attribute, Lengths, ParamKind, Schema};
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

impl PyCustomOp {
    pub(super) fn call(
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
            None => self.by_position(op.name(), args, kwargs)?,
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

    /// Tensors, then the attributes that are given by position; others by name.
    fn by_position(
        &self,
        op: &'static str,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Tensors, Named)> {
        let (mut tensors, mut attributes) = (Tensors::new(), Named::new());
        for object in args.iter() {
            if let (Ok(tensor), true) = (object.cast::<PyTensor>(), attributes.is_empty()) {
                tensors.push(tensor.get().tensor(args.py()));
            } else if let Some(name) = self.positional.get(attributes.len()) {
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

    pub(super) fn infer_outputs<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        attributes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<(Py<PyAny>, Py<PyAny>)>> {
        let op = self.op.get(py);
        let input = |pair: Bound<'py, PyAny>| -> PyResult<(Lengths, DType)> {
            let (shape, dtype): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            let dtype =
                dtype::extract(&dtype).ok_or_else(|| PyTypeError::new_err(format!("infer: {dtype} is no dtype")))?;
            Ok((rules::lengths(&shape)?, dtype))
        };
        let inputs = inputs.iter().map(input).collect::<PyResult<Vec<_>>>()?;
        let attributes = attributes.map_or(Ok(Named::new()), |dict| attribute::extract_all(op.name(), dict))?;
        let outputs = op.infer(&inputs, &attributes).or_raise(py)?;
        let object = |(shape, dtype): (Lengths, DType)| {
            let shape = if shape == [-2] { py.None() } else { rules::object(py, &shape)?.into_any().unbind() };
            Ok((shape, dtype::object(py, dtype)?.into_any()))
        };
        outputs.into_iter().map(object).collect()
    }
}

/// A result that is one of the arguments, changed in place, is the same object.
fn same_object(py: Python<'_>, args: &Bound<'_, PyTuple>, output: Tensor) -> PyResult<Py<PyAny>> {
    if output.storage().version() == 0 {
        return PyTensor::wrap(py, output);
    }
    let is_output =
        |arg: &Bound<'_, PyAny>| arg.cast::<PyTensor>().is_ok_and(|arg| arg.get().tensor(py).id() == output.id());
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
    let py = args.py();
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
                Ok(tensor) => tensors.push(tensor.get().tensor(py)),
                Err(_) => return Err(wrong_type(op, &param.name, "Tensor", &object)),
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

fn wrong_type(op: &str, name: &str, accepted: &str, object: &Bound<'_, PyAny>) -> PyErr {
    let given = object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{op}(): argument '{name}' must be {accepted}, not {given}"))
}

fn wrong_argument(op: &'static str, position: usize, object: &Bound<'_, PyAny>) -> PyErr {
    let given = object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
    let accepted = "tensors, then the attributes that are declared positional; other attributes by name";
    raise(object.py(), &Error::dtype(op, format!("argument {position}"), given, accepted))
}
