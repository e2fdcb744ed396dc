//! Tensors given to other libraries, as DLPack capsules.

use std::ffi::c_void;

use opforge::{Error, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::abi::{CPU, DataType, Device, DlTensor, Exchange, IS_COPIED, Managed, ManagedVersioned, READ_ONLY};
use crate::error::{OrRaise, raise};
use crate::tensor::PyTensor;

/// What an exported structure points to; its context.
struct Owner {
    /// Keeps the memory.
    _tensor: Tensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// # Safety
/// `managed` came from [`managed`], and nobody uses it any more.
unsafe extern "C" fn delete<M: Exchange>(managed: *mut M) {
    // SAFETY: both were made by `Box::into_raw` in `managed`; the caller's promise.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.content().context.cast::<Owner>()));
    }
}

/// Frees what a capsule holds, unless somebody has taken it over, which changes the capsule's name.
unsafe extern "C" fn destroy<M: Exchange>(capsule: *mut ffi::PyObject) {
    // SAFETY: called by the interpreter with a capsule of `capsule`'s, whose pointer is valid as long as it has its first name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast::<M>());
        }
    }
}

/// A structure with a tensor, which whoever gets it deletes.
pub(super) fn managed<M: Exchange>(tensor: &Tensor, flags: u64) -> opforge::Result<*mut M> {
    let offset = tensor.layout().start_offset() * tensor.dtype().size_in_bytes();
    let data = tensor.expose()?.as_ptr().wrapping_add(offset);
    let device =
        Device::of(*tensor.device()).ok_or_else(|| Error::device("dlpack", "tensor", tensor.device(), "cpu, cuda"))?;
    if device.kind != CPU {
        // Whoever takes it has a stream of their own.
        tensor.device().memory()?.wait()?;
    }
    let signed = |list: &[usize]| -> Vec<i64> { list.iter().map(|&n| n as i64).collect() };
    let mut owner =
        Box::new(Owner { _tensor: tensor.clone(), shape: signed(tensor.dims()), strides: signed(tensor.stride()) });
    let described = DlTensor {
        data: data.cast::<c_void>(),
        device,
        ndim: tensor.rank() as i32,
        dtype: DataType::from(tensor.dtype()),
        shape: owner.shape.as_mut_ptr(),
        strides: owner.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    Ok(Box::into_raw(Box::new(M::new(described, Box::into_raw(owner).cast(), delete::<M>, flags))))
}

/// A capsule with a tensor, which whoever takes it over deletes.
fn capsule<M: Exchange>(py: Python<'_>, tensor: &Tensor, flags: u64) -> PyResult<Py<PyAny>> {
    let managed = managed::<M>(tensor, flags).or_raise(py)?;
    // SAFETY: the name is static; on failure, nobody else has the structure.
    unsafe {
        let capsule = ffi::PyCapsule_New(managed.cast(), M::NAME.as_ptr(), Some(destroy::<M>));
        if capsule.is_null() {
            delete(managed);
        }
        Ok(Bound::from_owned_ptr_or_err(py, capsule)?.cast_into::<PyCapsule>()?.into_any().unbind())
    }
}

/// Refuses what DLPack has no words for; gives the device's.
pub(super) fn check(tensor: &Tensor) -> PyResult<Device> {
    if tensor.requires_grad() {
        return Err(PyBufferError::new_err("Can't export tensors that require gradient, use tensor.detach()"));
    }
    let absent = || PyBufferError::new_err(format!("__dlpack__: no memory on device {}", tensor.device()));
    Device::of(*tensor.device()).ok_or_else(absent)
}

#[pymethods]
impl PyTensor {
    /// A capsule with the memory, for `from_dlpack` of any library: of DLPack 1.x if `max_version` allows it.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor(py);
        let own = check(&tensor)?;
        if stream.is_some() && own.kind == CPU {
            return Err(raise(py, &Error::value("__dlpack__", "stream", "a stream", "None: the CPU has no streams")));
        }
        let to_host = own.kind != CPU && dl_device == Some((CPU, 0)) && copy != Some(false);
        if let Some(device) = dl_device.filter(|&device| device != (own.kind, own.id) && !to_host) {
            let text = format!("__dlpack__: cannot export to device {device:?}, only to {:?}", (own.kind, own.id));
            return Err(PyBufferError::new_err(text));
        }
        let copied = to_host || copy == Some(true);
        let copy = || if to_host { tensor.to_device(&opforge::Device::Cpu) } else { tensor.copy() };
        let tensor = if copied { copy().or_raise(py)? } else { tensor };
        let read_only = tensor.storage().is_read_only();
        if max_version.is_some_and(|(major, _)| major >= 1) {
            let flags = if read_only { READ_ONLY } else { 0 } | if copied { IS_COPIED } else { 0 };
            return capsule::<ManagedVersioned>(py, &tensor, flags);
        }
        if read_only {
            return Err(PyBufferError::new_err("__dlpack__: read-only memory needs max_version=(1, 0) or copy=True"));
        }
        capsule::<Managed>(py, &tensor, 0)
    }

    /// The type and the number of the device: `(1, 0)` for the CPU, `(2, number)` for a CUDA device.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        let tensor = self.tensor(py);
        let absent = || PyBufferError::new_err(format!("__dlpack_device__: no memory on device {}", tensor.device()));
        Device::of(*tensor.device()).map(|device| (device.kind, device.id)).ok_or_else(absent)
    }
}
