//! Memory of other objects, held by the buffer protocol.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use opforge::Error;
use opforge_runtime::Storage;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::error::raise;

/// The memory that an object shows by the buffer protocol, held by a memoryview that nobody else knows and so nobody else releases.
pub struct Region {
    holder: Py<PyMemoryView>,
    data: *mut u8,
    /// The bytes of all elements.
    pub len: usize,
    /// The bytes of an element.
    pub itemsize: usize,
    read_only: bool,
    /// What an element is: see [`super::format`].
    pub format: String,
    /// The lengths of the dimensions.
    pub shape: Vec<usize>,
    /// The strides in bytes, if not those of row-major order.
    pub strides: Option<Vec<isize>>,
}

impl Region {
    /// The memory of an object.
    ///
    /// # Errors
    /// TypeError for an object that shows none.
    pub fn of(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let holder = PyMemoryView::from(object).map_err(|refused| {
            let reason = refused.value(py).to_string();
            raise(py, &Error::dtype(op, "data", reason, "an array of numbers with the buffer protocol"))
        })?;
        let mut view = std::mem::MaybeUninit::<ffi::Py_buffer>::zeroed();
        // SAFETY: the memoryview fills the view in, or raises.
        let failed = unsafe { ffi::PyObject_GetBuffer(holder.as_ptr(), view.as_mut_ptr(), ffi::PyBUF_FULL_RO) } != 0;
        if failed {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: the view has been filled in, since the call did not fail.
        let mut view = unsafe { view.assume_init() };
        // SAFETY: the fields are those of a filled-in view.
        let region = unsafe { Self::read(&view, holder.clone().unbind()) };
        // SAFETY: filled in, and released once. The memory stays: the memoryview itself still holds it.
        unsafe { ffi::PyBuffer_Release(&mut view) };
        region.ok_or_else(|| {
            raise(py, &Error::value(op, "data", "a buffer of pointers to buffers", "one block of memory"))
        })
    }

    /// # Safety
    /// The view was filled in by the buffer protocol for [`ffi::PyBUF_FULL_RO`].
    unsafe fn read(view: &ffi::Py_buffer, holder: Py<PyMemoryView>) -> Option<Self> {
        let ndim = view.ndim as usize;
        // SAFETY: such views have `ndim` lengths, `ndim` strides or none, and a format or none, which means bytes.
        let (shape, strides, format) = unsafe {
            let list = |list: *const isize| (!list.is_null()).then(|| std::slice::from_raw_parts(list, ndim).to_vec());
            let format = (!view.format.is_null()).then(|| CStr::from_ptr(view.format));
            (list(view.shape), list(view.strides), format)
        };
        let shape = shape.unwrap_or_default().into_iter().map(|len| len as usize).collect();
        view.suboffsets.is_null().then(|| Region {
            holder,
            data: view.buf.cast(),
            len: view.len as usize,
            itemsize: view.itemsize as usize,
            read_only: view.readonly != 0,
            format: format.map_or_else(|| "B".into(), |format| format.to_string_lossy().into_owned()),
            shape,
            strides,
        })
    }

    /// Whether the elements are in row-major order without gaps.
    pub fn is_dense(&self) -> bool {
        let mut expected = self.itemsize;
        let strides = self.strides.as_deref().unwrap_or_default();
        self.shape.iter().zip(strides).rev().all(|(&len, &stride)| {
            let fits = len <= 1 || usize::try_from(stride) == Ok(expected);
            expected = expected.saturating_mul(len);
            fits
        })
    }

    /// The bytes from an offset on, which is at most `len`, of dense memory.
    pub fn from(self, offset: usize) -> Self {
        Region { data: self.data.wrapping_add(offset), len: self.len - offset, ..self }
    }

    /// The first `nbytes` bytes as a storage, which keeps the object's memory. The caller has derived `nbytes` from what the object says.
    pub fn into_storage(self, nbytes: usize) -> Arc<Storage> {
        let data = NonNull::new(self.data).filter(|_| nbytes > 0).unwrap_or(NonNull::<u64>::dangling().cast());
        // SAFETY: the buffer protocol promises memory for all elements, the last of which ends at `nbytes`, as long as the holder lives. It
        // is dropped on any thread, which `Py` defers to a thread that is attached. Kernels and others take turns: `Storage::expose`.
        unsafe { Storage::from_raw(data, nbytes, self.read_only, Box::new(self.holder)) }
    }
}
