//! Tensors from Python's data: numbers, nested sequences, arrays, other tensors.

mod elements;
mod fault;
mod functions;
mod nested;
mod new;

use opforge::dispatch::{EagerLocal, interpreted_by};
use opforge::functional::default_dtype;
use opforge::{DType, Device, Tensor};
use opforge_core::Kind;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::{PyTensor, buffer, dlpack, numpy};
use crate::binding;
use crate::error::OrRaise;
pub use functions::{as_tensor, asarray, frombuffer, tensor};
use nested::Walk;
pub use new::instance;

/// What a tensor is to be like.
#[derive(Clone, Copy, Default)]
pub struct Like {
    pub dtype: Option<DType>,
    pub device: Option<Device>,
}

impl Like {
    /// The tensor itself, or its elements in another dtype or on another device.
    pub fn apply(self, tensor: &Tensor) -> opforge::Result<Tensor> {
        let cast = tensor.to_dtype(self.dtype.unwrap_or(tensor.dtype()))?;
        cast.to_device(&self.device.unwrap_or(*tensor.device()))
    }

    /// As [`Like::apply`], in memory of its own.
    fn copy(self, tensor: &Tensor) -> opforge::Result<Tensor> {
        let made = self.apply(&tensor.detach())?;
        if made.shares_storage(tensor) { made.copy() } else { Ok(made) }
    }
}

/// Whether an object has the buffer protocol.
fn has_buffer(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: asks for the type's slots only.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
}

/// Whether an object holds an array: by the buffer protocol, or numpy's or DLPack's.
fn is_array_like(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(has_buffer(object)
        || object.hasattr("__array__")?
        || object.hasattr("__array_interface__")?
        || object.hasattr("__dlpack__")?)
}

/// A tensor over an array's memory where that can be, otherwise over a copy.
fn array_like(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    if numpy::is_ndarray(object)? {
        let copied = |_| numpy::in_native_order(object).and_then(|copy| buffer::import(op, &copy));
        return buffer::import(op, object).or_else(copied);
    }
    array_memory(op, object)
}

/// A tensor over an array's memory.
///
/// # Errors
/// TypeError and ValueError for arrays that a tensor cannot show as they are.
fn array_memory(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    if has_buffer(object) {
        return buffer::import(op, object);
    }
    if object.hasattr("__dlpack__")? {
        return dlpack::import(object);
    }
    let array = object.py().import("numpy")?.call_method1("asarray", (object,))?;
    buffer::import(op, &array)
}

/// Whether data is to be walked through rather than taken as an array.
fn is_nested(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let sequence = data.cast::<PyList>().is_ok() || data.cast::<PyTuple>().is_ok();
    let text = data.cast::<PyString>().is_ok() || data.cast::<PyBytes>().is_ok();
    Ok(sequence || text || binding::scalar(data.as_borrowed()).is_some() || !is_array_like(data)?)
}

/// The dtype that Python's own numbers of a kind have: what elements of arrays that are no tensors' and no numpy arrays are taken as.
fn python_dtype(kind: Kind) -> DType {
    match kind {
        Kind::Bool => DType::Bool,
        Kind::Int => DType::I64,
        Kind::Float => default_dtype(),
        Kind::Complex => DType::C64,
    }
}

/// A new tensor with a copy of the data.
///
/// # Errors
/// TypeError for what is neither numbers nor sequences of them; ValueError for sequences of different lengths and numbers that do not fit
/// the dtype. Both name the place in the data.
pub fn from_data(op: &'static str, data: &Bound<'_, PyAny>, like: Like) -> PyResult<Tensor> {
    let py = data.py();
    if let Ok(tensor) = data.cast::<PyTensor>() {
        return like.copy(&tensor.get().tensor(py)).or_raise(py);
    }
    if is_nested(data)? {
        let walk = Walk::through(data, like.dtype).map_err(|fault| fault.raise(py, op))?;
        // Numbers are there at once, in graphs too, whose constants they are.
        return interpreted_by(&EagerLocal, || {
            let made = walk.into_tensor(default_dtype()).map_err(|fault| fault.raise(py, op))?;
            like.apply(&made).or_raise(py)
        });
    }
    let shared = array_like(op, data)?;
    let own_dtype = numpy::is_ndarray(data)? || data.hasattr("__dlpack__")? || data.hasattr("__array__")?;
    let dtype = like.dtype.or((!own_dtype).then(|| python_dtype(shared.dtype().kind())));
    Like { dtype, ..like }.copy(&shared).or_raise(py)
}

/// A tensor over the data's own memory; none for data that has no such memory.
///
/// # Errors
/// TypeError and ValueError for arrays that a tensor cannot show as they are.
fn sharing(op: &'static str, data: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Ok(tensor) = data.cast::<PyTensor>() {
        return Ok(Some(tensor.get().tensor(data.py())));
    }
    if is_nested(data)? {
        return Ok(None);
    }
    array_memory(op, data).map(Some)
}

/// Makes a new tensor collect gradients if it is to.
pub fn with_grad(py: Python<'_>, tensor: Tensor, requires_grad: bool) -> PyResult<Tensor> {
    if requires_grad {
        tensor.set_requires_grad(true).or_raise(py)?;
    }
    Ok(tensor)
}

/// The device that an argument names.
pub fn device(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Device>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(None) };
    if let Some(device) = crate::device::named(argument.as_borrowed()) {
        return device.map(Some).or_raise(argument.py());
    }
    Err(refused(argument, "'device' must be a device or its name"))
}

fn refused(argument: &Bound<'_, PyAny>, accepted: &str) -> PyErr {
    let text = argument.repr().map_or_else(|_| "?".into(), |text| text.to_string());
    PyTypeError::new_err(format!("{accepted}, not {text}"))
}

/// The device that an argument names, or the one that was chosen for new tensors.
fn device_or_chosen(py: Python<'_>, argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Device>> {
    let named = device(argument)?;
    if named.is_some() { Ok(named) } else { crate::device::chosen(py) }
}

/// The dtype that an argument names.
pub fn dtype(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(None) };
    let dtype = crate::dtype::extract(argument);
    dtype.map(Some).ok_or_else(|| refused(argument, "'dtype' must be a dtype"))
}
