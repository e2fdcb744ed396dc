//! Tensors shown to others by the buffer protocol.

use std::ffi::{c_int, c_void};
use std::ptr;

use opforge::Tensor;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::format;
use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// What an exported view points to, beside the elements.
struct Export {
    /// Keeps the memory.
    _tensor: Tensor,
    shape: Vec<isize>,
    /// In bytes.
    strides: Vec<isize>,
}

/// Whether the elements lie with the first index running fastest, without gaps.
fn is_column_major(tensor: &Tensor) -> bool {
    let mut expected = 1;
    tensor.dims().iter().zip(tensor.stride()).all(|(&len, &stride)| {
        let fits = len <= 1 || stride == expected;
        expected *= len;
        fits
    })
}

/// Why a tensor cannot be shown as the flags ask, if so.
fn refusal(tensor: &Tensor, flags: c_int) -> Option<&'static str> {
    let asks = |flag: c_int| flags & flag == flag;
    let is_c = tensor.is_contiguous();
    let is_f = || is_column_major(tensor);
    if tensor.requires_grad() {
        Some("a tensor that requires grad; use tensor.detach()")
    } else if !tensor.device().is_cpu() {
        Some("a tensor without elements in main memory")
    } else if format::of_dtype(tensor.dtype()).is_none() {
        Some("elements of a dtype that the buffer protocol has no format for")
    } else if asks(ffi::PyBUF_WRITABLE) && tensor.storage().is_read_only() {
        Some("read-only memory for writing")
    } else if asks(ffi::PyBUF_C_CONTIGUOUS) && !is_c {
        Some("elements that are not in row-major order")
    } else if asks(ffi::PyBUF_F_CONTIGUOUS) && !is_f() {
        Some("elements that are not in column-major order")
    } else if (asks(ffi::PyBUF_ANY_CONTIGUOUS) && !is_c && !is_f()) || (!asks(ffi::PyBUF_STRIDES) && !is_c) {
        Some("elements with gaps between them")
    } else {
        None
    }
}

/// Shows a tensor's elements as a view of `owner`'s.
///
/// # Errors
/// BufferError for what cannot be shown as the flags ask.
///
/// # Safety
/// `view` has room for a view, which is handed back to [`release`] when `owner` is asked to release it.
pub unsafe fn show(owner: Bound<'_, PyAny>, tensor: &Tensor, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    let py = owner.py();
    if view.is_null() {
        return Err(PyBufferError::new_err("no view to fill in"));
    }
    if let Some(what) = refusal(tensor, flags) {
        return Err(PyBufferError::new_err(format!("cannot show {what}")));
    }
    let size = tensor.dtype().size_in_bytes();
    let data = tensor.expose().or_raise(py)?;
    let data = data.as_ptr().wrapping_add(tensor.layout().start_offset() * size);
    let in_bytes = |&stride: &usize| (stride * size) as isize;
    let export = Box::new(Export {
        shape: tensor.dims().iter().map(|&d| d as isize).collect(),
        strides: tensor.stride().iter().map(in_bytes).collect(),
        _tensor: tensor.clone(),
    });
    let asked = |flag: c_int, list: &[isize]| {
        if flags & flag == flag { list.as_ptr().cast_mut() } else { ptr::null_mut() }
    };
    let format = format::of_dtype(tensor.dtype()).filter(|_| flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT);
    let filled = ffi::Py_buffer {
        buf: data.cast::<c_void>(),
        len: (tensor.elem_count() * size) as isize,
        itemsize: size as isize,
        readonly: c_int::from(tensor.storage().is_read_only()),
        ndim: tensor.rank() as c_int,
        format: format.map_or(ptr::null_mut(), |format| format.as_ptr().cast_mut()),
        shape: asked(ffi::PyBUF_ND, &export.shape),
        strides: asked(ffi::PyBUF_STRIDES, &export.strides),
        suboffsets: ptr::null_mut(),
        internal: Box::into_raw(export).cast(),
        obj: owner.into_ptr(),
    };
    // SAFETY: `view`, not null, has room for a view.
    unsafe { view.write(filled) };
    Ok(())
}

/// Frees what a view points to.
///
/// # Safety
/// [`show`] filled in the view, which is released once.
pub unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: `show` made `internal` of a box, and the view is released once.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Export>()) });
}

#[pymethods]
impl PyTensor {
    /// Shows the elements without a copy. Kernels that were called before have run, and later ones run before their calls return.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let tensor = slf.get().tensor(slf.py());
        // SAFETY: the interpreter gives room for a view, and hands it back to `__releasebuffer__`.
        unsafe { show(slf.into_any(), &tensor, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter releases each view of `__getbuffer__` once.
        unsafe { release(view) };
    }
}
