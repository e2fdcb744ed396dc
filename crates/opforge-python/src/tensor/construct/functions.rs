//! `tensor`, `as_tensor`, `asarray` and `frombuffer`.

use opforge::Error;
use pyo3::prelude::*;

use super::super::PyTensor;
use super::{Like, device_or_chosen, dtype, from_data, sharing, with_grad};
use crate::error::{OrRaise, raise};
use crate::tensor::buffer;

/// An argument that may be any object.
type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// A tensor with a copy of the data: numbers, nested sequences of them, arrays, tensors.
///
/// Python's floats become the default dtype, ints int64; arrays and tensors keep theirs.
#[pyfunction]
#[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
pub fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Py<PyAny>> {
    let _ = pin_memory; // Main memory needs no pinning.
    let like = Like { dtype: super::dtype(dtype)?, device: device_or_chosen(data.py(), device)? };
    let tensor = from_data("tensor", data, like)?;
    PyTensor::wrap(data.py(), with_grad(data.py(), tensor, requires_grad)?)
}

/// The object itself if it is a tensor that is as asked for already; else a tensor that shares its memory if that can be, else a copy.
fn share_or_copy(op: &'static str, data: &Bound<'_, PyAny>, like: Like) -> PyResult<Py<PyAny>> {
    let py = data.py();
    // What cannot be shared may be copied, or that says why it cannot.
    let Ok(Some(shared)) = sharing(op, data) else { return PyTensor::wrap(py, from_data(op, data, like)?) };
    let made = like.apply(&shared).or_raise(py)?;
    if data.cast::<PyTensor>().is_ok() && made.id() == shared.id() {
        return Ok(data.clone().unbind());
    }
    PyTensor::wrap(py, made)
}

/// The data as a tensor, without a copy where that can be: tensors of that dtype and device are returned as they are, numpy's arrays are
/// shared.
#[pyfunction]
#[pyo3(signature = (data, dtype = None, device = None))]
pub fn as_tensor(data: &Bound<'_, PyAny>, dtype: Any<'_, '_>, device: Any<'_, '_>) -> PyResult<Py<PyAny>> {
    share_or_copy("as_tensor", data, Like { dtype: self::dtype(dtype)?, device: device_or_chosen(data.py(), device)? })
}

/// The object as a tensor. `copy=True` copies in any case; `copy=False` raises ValueError where a copy is needed.
#[pyfunction]
#[pyo3(signature = (obj, *, dtype = None, device = None, copy = None, requires_grad = false))]
pub fn asarray(
    obj: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    copy: Option<bool>,
    requires_grad: bool,
) -> PyResult<Py<PyAny>> {
    let py = obj.py();
    let like = Like { dtype: self::dtype(dtype)?, device: device_or_chosen(py, device)? };
    let made = match copy {
        Some(true) => PyTensor::wrap(py, from_data("asarray", obj, like)?)?,
        Some(false) => {
            let shared = sharing("asarray", obj)?;
            let made = shared.as_ref().map(|shared| like.apply(shared)).transpose().or_raise(py)?;
            let same = made.filter(|made| shared.is_some_and(|shared| made.shares_storage(&shared)));
            let accepted = "an array of this dtype and device, as no copy is to be made";
            let refused = || raise(py, &Error::value("asarray", "obj", "data that must be copied", accepted));
            PyTensor::wrap(py, same.ok_or_else(refused)?)?
        }
        None => share_or_copy("asarray", obj, like)?,
    };
    let tensor = made.bind(py).cast::<PyTensor>()?.get().tensor(py);
    if requires_grad && !tensor.requires_grad() {
        return PyTensor::wrap(py, with_grad(py, tensor.detach(), true)?);
    }
    Ok(made)
}

/// A vector over the bytes of an object with the buffer protocol: `count` elements (-1: all that fit) from byte `offset` on.
#[pyfunction]
#[pyo3(signature = (buffer, *, dtype, count = -1, offset = 0, requires_grad = false))]
pub fn frombuffer(
    buffer: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    count: i64,
    offset: usize,
    requires_grad: bool,
) -> PyResult<Py<PyAny>> {
    let py = buffer.py();
    let Some(dtype) = self::dtype(Some(dtype))? else {
        return Err(raise(py, &Error::dtype("frombuffer", "dtype", "None", "a dtype")));
    };
    let count = (count >= 0).then_some(count as usize);
    let tensor = buffer::import_bytes("frombuffer", buffer, dtype, count, offset)?;
    PyTensor::wrap(py, with_grad(py, tensor, requires_grad)?)
}
