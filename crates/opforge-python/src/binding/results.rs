//! Values as Python objects.

use opforge::Scalar;
use opforge::declaration::{Function, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::device::PyDevice;
use crate::dtype;
use crate::generator::PyGenerator;
use crate::tensor::PyTensor;

/// The class of the named tuple that a function returns, if it names its results: made by `collections.namedtuple`.
pub fn class(py: Python<'_>, function: &Function) -> PyResult<Option<Py<PyType>>> {
    let fields = function.faces().results;
    if fields.is_empty() {
        return Ok(None);
    }
    let make = py.import("collections")?.getattr("namedtuple")?;
    let class = make.call1((function.python_name(), fields.to_vec()))?;
    class.setattr("__module__", "opforge.return_types")?;
    Ok(Some(class.cast_into::<PyType>()?.unbind()))
}

/// A value as a Python object; several tensors as a tuple, named if there is a class for it.
#[inline]
pub fn object(py: Python<'_>, value: Value, class: Option<&Py<PyType>>) -> PyResult<Py<PyAny>> {
    match value {
        Value::Tensor(tensor) => Ok(PyTensor::wrap(py, tensor)?.into_any()),
        Value::Tensors(tensors) => {
            let tuple = PyTuple::new(py, tensors.into_iter().map(PyTensor::from))?;
            match class {
                Some(class) => Ok(class.bind(py).call1(tuple)?.unbind()),
                None => Ok(tuple.into_any().unbind()),
            }
        }
        Value::OptionalTensors(tensors) => {
            PyTuple::new(py, tensors.into_iter().map(|t| t.map(PyTensor::from)))?.into_py_any(py)
        }
        Value::None => Ok(py.None()),
        Value::Scalar(number) => scalar(py, number),
        Value::Ints(ints) => PyTuple::new(py, ints)?.into_py_any(py),
        Value::Floats(floats) => PyTuple::new(py, floats)?.into_py_any(py),
        Value::DType(dtype) => dtype::object(py, dtype)?.into_py_any(py),
        Value::Device(device) => PyDevice::from(device).into_py_any(py),
        Value::Generator(generator) => PyGenerator::from(generator).into_py_any(py),
        Value::Text(text) => text.into_py_any(py),
    }
}

/// A number as a Python object.
pub fn scalar(py: Python<'_>, number: Scalar) -> PyResult<Py<PyAny>> {
    match number {
        Scalar::Bool(b) => b.into_py_any(py),
        Scalar::Int(i) => i.into_py_any(py),
        Scalar::UInt(u) => u.into_py_any(py),
        Scalar::Float(x) => x.into_py_any(py),
        Scalar::Complex(re, im) => pyo3::types::PyComplex::from_doubles(py, re, im).into_py_any(py),
    }
}
