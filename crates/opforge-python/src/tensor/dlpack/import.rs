//! Tensors taken over from other libraries' DLPack capsules.

use std::ptr::NonNull;

use opforge::{DType, Device, Error, Layout, Result, Shape, Tensor};
use opforge_core::MAX_RANK;
use opforge_runtime::Storage;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use super::abi::{CUDA, Device as Place, DlTensor, Exchange, Managed, ManagedVersioned, VERSION};
use crate::error::{OrRaise, raise};
use crate::tensor::buffer::over;

/// A structure of another library's, deleted by that library's function.
struct Owner<M: Exchange>(NonNull<M>);

// SAFETY: DLPack lets the deleter be called on any thread; nothing else is done with the structure after its import.
unsafe impl<M: Exchange> Send for Owner<M> {}
// SAFETY: nothing is done with the structure through a shared reference.
unsafe impl<M: Exchange> Sync for Owner<M> {}

impl<M: Exchange> Drop for Owner<M> {
    fn drop(&mut self) {
        // SAFETY: taken over from a capsule, so it is this owner's to delete, once.
        unsafe {
            if let Some(deleter) = self.0.as_ref().content().deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// What a structure says about its memory, checked.
struct Claim {
    device: Device,
    data: NonNull<u8>,
    nbytes: usize,
    dtype: DType,
    layout: Layout,
}

fn invalid(argument: &'static str, given: impl std::fmt::Display, accepted: impl std::fmt::Display) -> Error {
    Error::value("from_dlpack", argument, given, accepted)
}

fn absent(Place { kind, id }: Place) -> Error {
    let accepted = "(1, 0), the CPU, or (2, number), a CUDA device that is there";
    Error::device("from_dlpack", "ext_tensor", format!("device ({kind}, {id})"), accepted)
}

/// Lengths or strides.
///
/// # Safety
/// The list has so many numbers.
unsafe fn list(list: *mut i64, rank: usize) -> Result<Vec<usize>> {
    // SAFETY: the caller's promise.
    let list = if rank == 0 { &[] } else { unsafe { std::slice::from_raw_parts(list, rank) } };
    let whole = list.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>();
    whole.ok_or_else(|| invalid("ext_tensor", format!("lengths or strides {list:?}"), "numbers of at least 0"))
}

/// What a description says of elements, checked.
///
/// # Safety
/// `shape` is null or points to `ndim` numbers.
pub(super) unsafe fn dtype_and_shape(tensor: &DlTensor) -> Result<(DType, Shape)> {
    let DlTensor { ndim, dtype, shape, .. } = tensor;
    let rank = usize::try_from(*ndim).ok().filter(|&rank| rank <= MAX_RANK);
    let rank = rank.ok_or_else(|| Error::shape("from_dlpack", "ndim", ndim, format!("0 to {MAX_RANK}")))?;
    let accepted = "bool, ints, floats, bfloat16 and complex numbers of this library's sizes, one lane";
    let dtype = dtype.to_dtype().ok_or_else(|| Error::dtype("from_dlpack", "dtype", format!("{dtype:?}"), accepted))?;
    if rank > 0 && shape.is_null() {
        return Err(invalid("shape", "null", "a length for each dimension"));
    }
    // SAFETY: not null, hence as many numbers as there are dimensions.
    let shape = Shape::from(unsafe { list(*shape, rank) }?);
    shape.check("from_dlpack", dtype.size_in_bytes())?;
    Ok((dtype, shape))
}

/// # Safety
/// `shape` and `strides` are null or point to `ndim` numbers.
unsafe fn claim(tensor: &DlTensor) -> Result<Claim> {
    let DlTensor { data, device, strides, byte_offset, .. } = tensor;
    let device = device.present().ok_or_else(|| absent(*device))?;
    // SAFETY: the caller's promise.
    let (dtype, shape) = unsafe { dtype_and_shape(tensor) }?;
    let dense = strides.is_null() || shape.elem_count() == 0;
    let layout = if dense {
        Layout::contiguous(shape)
    } else {
        // SAFETY: not null, hence as many numbers as there are dimensions.
        let strides = unsafe { list(*strides, shape.rank()) }?;
        Layout::new(shape, strides.into(), 0, "from_dlpack")?
    };
    let nbytes = layout.span() * dtype.size_in_bytes();
    let data = usize::try_from(*byte_offset).ok().map(|offset| data.cast::<u8>().wrapping_add(offset));
    let data = data.filter(|data| !data.is_null() && !tensor.data.is_null()).and_then(NonNull::new);
    // Of no elements any address is right that is aligned for the largest.
    let empty = (nbytes == 0).then(|| NonNull::<u128>::dangling().cast());
    let data = empty.or(data).ok_or_else(|| invalid("data", "null", "the address of the elements"))?;
    Ok(Claim { device, data, nbytes, dtype, layout })
}

/// Takes over what a capsule holds. Without success the capsule keeps it.
fn take<M: Exchange>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Tensor> {
    let py = capsule.py();
    // SAFETY: the name is the capsule's.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), M::NAME.as_ptr()) };
    let managed = NonNull::new(pointer.cast::<M>()).ok_or_else(|| PyErr::fetch(py))?;
    // SAFETY: a capsule of this name holds such a structure; it is no longer the capsule's under its other name, which is static.
    unsafe {
        adopt(py, managed, || match ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) {
            0 => Ok(()),
            _ => Err(PyErr::fetch(py)),
        })
    }
}

/// The tensor of a structure, which is the tensor's once `release` has taken it from whoever has it. Without success nothing is taken.
///
/// # Safety
/// The structure is valid, and nobody else's after `release`.
pub(super) unsafe fn adopt<M: Exchange>(
    py: Python<'_>,
    managed: NonNull<M>,
    release: impl FnOnce() -> PyResult<()>,
) -> PyResult<Tensor> {
    // SAFETY: the caller's promise.
    let structure = unsafe { managed.as_ref() }.content();
    if let Some(version) = structure.version.filter(|version| version.major != VERSION.major) {
        let given = format!("version {}.{}", version.major, version.minor);
        return Err(PyBufferError::new_err(format!("from_dlpack: {given} of DLPack, where 1.x is understood")));
    }
    // SAFETY: whoever made the structure promises what `shape` and `strides` point to.
    let Claim { device, data, nbytes, dtype, layout } = unsafe { claim(structure.tensor) }.or_raise(py)?;
    if !data.as_ptr().addr().is_multiple_of(dtype.size_in_bytes()) {
        let accepted = format!("memory at a multiple of {} bytes", dtype.size_in_bytes());
        return Err(raise(py, &invalid("data", "memory that is not aligned", accepted)));
    }
    let read_only = structure.read_only;
    release()?;
    // SAFETY: the structure promises memory for the elements of the layout until it is deleted, which the owner does, and whether they may be
    // written. Kernels and others take turns: `Storage::expose`.
    let storage = unsafe { Storage::from_raw_on(device, data, nbytes, read_only, Box::new(Owner(managed))) };
    over("from_dlpack", storage, dtype, layout).or_raise(py)
}

/// The capsule of an object: of DLPack 1.x where the object knows it.
fn ask<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if !object.hasattr("__dlpack__")? {
        let class = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("from_dlpack(): a {class} has no __dlpack__, and is no capsule")));
    }
    let options = PyDict::new(py);
    if object.hasattr("__dlpack_device__")? {
        let (kind, id) = object.call_method0("__dlpack_device__")?.extract()?;
        let device = Place { kind, id };
        device.present().ok_or_else(|| absent(device)).or_raise(py)?;
        if kind == CUDA {
            // The legacy default stream, which our streams and it wait for one another.
            options.set_item("stream", 1)?;
        }
    }
    options.set_item("max_version", (VERSION.major, VERSION.minor))?;
    match object.call_method("__dlpack__", (), Some(&options)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => object.call_method0("__dlpack__"),
        made => made,
    }
}

/// A tensor over the memory of an object with `__dlpack__`, or of a capsule.
///
/// # Errors
/// Typed errors for devices, dtypes, shapes and strides that tensors cannot have; BufferError for other versions and used capsules.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let capsule = match object.cast::<PyCapsule>() {
        Ok(capsule) => capsule.clone(),
        Err(_) => ask(object)?.cast_into::<PyCapsule>()?,
    };
    // SAFETY: compares names.
    let named = |name: &std::ffi::CStr| unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 1 };
    if named(ManagedVersioned::NAME) {
        take::<ManagedVersioned>(&capsule)
    } else if named(Managed::NAME) {
        take::<Managed>(&capsule)
    } else {
        let text = "from_dlpack: not a capsule of DLPack's, or one that has been used before";
        Err(PyBufferError::new_err(text))
    }
}
