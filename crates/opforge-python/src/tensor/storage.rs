//! The memory that tensors share, as an object of its own.

use std::ffi::c_int;
use std::sync::Arc;

use opforge::{DType, Device, Error, Layout, Tensor};
use opforge_dist::global;
use opforge_runtime::Storage;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::{PyTensor, buffer, construct};
use crate::device::PyDevice;
use crate::error::{OrRaise, raise};

/// Memory without a dtype. Tensors that share memory have the same storage object as long as it is in use.
#[pyclass(name = "UntypedStorage", module = "opforge", frozen, weakref)]
pub struct PyStorage(Arc<Storage>);

/// The objects in use, by their storage's address: a `weakref.WeakValueDictionary`.
static KNOWN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The object that stands for a storage.
pub fn object<'py>(py: Python<'py>, storage: &Arc<Storage>) -> PyResult<Bound<'py, PyStorage>> {
    let new = || py.import("weakref")?.getattr("WeakValueDictionary")?.call0().map(Bound::unbind);
    let known = KNOWN.get_or_try_init(py, new)?.bind(py);
    // An address is not used again before the object, which holds the storage, has left the dictionary.
    let address = Arc::as_ptr(storage).addr();
    let found = known.call_method1("get", (address,))?;
    if !found.is_none() {
        return Ok(found.cast_into::<PyStorage>()?);
    }
    let made = Bound::new(py, PyStorage(storage.clone()))?;
    known.set_item(address, &made)?;
    Ok(made)
}

impl PyStorage {
    pub fn storage(&self) -> &Arc<Storage> {
        &self.0
    }

    /// The bytes as a vector.
    fn bytes(&self) -> opforge::Result<Tensor> {
        Tensor::over_storage(self.0.clone(), DType::U8, Layout::contiguous(self.0.nbytes()))
    }
}

#[pymethods]
impl PyStorage {
    /// So many zero bytes, or a copy of a buffer's bytes.
    #[new]
    #[pyo3(signature = (data, device = None))]
    fn new(data: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = data.py();
        let device = construct::device(device)?.unwrap_or(Device::Cpu);
        if let Ok(nbytes) = data.extract::<usize>() {
            return Storage::new(device, nbytes).map(PyStorage).or_raise(py);
        }
        let shared = buffer::import("UntypedStorage", data)?;
        let bytes = shared.elem_count() * shared.dtype().size_in_bytes();
        let copy = Storage::new(device, bytes).or_raise(py)?;
        let target = Tensor::over_storage(copy.clone(), shared.dtype(), Layout::contiguous(shared.shape()));
        let shared = shared.to_device(&device);
        target.and_then(|target| target.copy_from(&shared?)).or_raise(py)?;
        Ok(PyStorage(copy))
    }

    /// The size in bytes.
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// The size in bytes.
    fn size(&self) -> usize {
        self.0.nbytes()
    }

    fn __len__(&self) -> usize {
        self.0.nbytes()
    }

    /// Where the bytes are.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice::from(self.0.device())
    }

    /// The address of the first byte; 0 where there are none.
    fn data_ptr(&self, py: Python<'_>) -> PyResult<usize> {
        address(&self.0).or_raise(py)
    }

    /// Whether other processes see the memory.
    fn is_shared(&self) -> bool {
        false
    }

    /// The same bytes in memory of their own; of a global tensor, in the same parts.
    fn clone<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyStorage>> {
        let all = global::whole_over(&self.0).unwrap_or_else(|| self.bytes());
        object(py, all.and_then(|all| all.copy()).or_raise(py)?.storage())
    }

    fn __deepcopy__<'py>(&self, py: Python<'py>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyStorage>> {
        self.clone(py)
    }

    /// For pickle: the bytes, out of band where the protocol and its user can.
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i64) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let class = slf.get_type().into_any();
        let storage = &slf.get().0;
        if storage.device().is_meta() {
            return Ok((class, (storage.nbytes(), "meta").into_pyobject(py)?.into_any()));
        }
        if global::whole_over(storage).is_some() {
            let accepted = "a local tensor: to_local() gives this rank's part, cpu() everything";
            return Err(raise(py, &Error::device("pickle", "tensor", storage.device(), accepted)));
        }
        if !storage.device().is_cpu() {
            let bytes = slf.get().bytes().and_then(|bytes| bytes.to_vec1::<u8>()).or_raise(py)?;
            let (bytes, device) = (pyo3::types::PyBytes::new(py, &bytes), storage.device().name());
            return Ok((class, (bytes, device).into_pyobject(py)?.into_any()));
        }
        let bytes = if protocol >= 5 {
            py.import("pickle")?.getattr("PickleBuffer")?.call1((slf,))?
        } else {
            py.get_type::<pyo3::types::PyBytes>().call1((slf,))?
        };
        Ok((class, (bytes,).into_pyobject(py)?.into_any()))
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = slf.get().bytes().or_raise(slf.py())?;
        // SAFETY: the interpreter gives room for a view, and hands it back to `__releasebuffer__`.
        unsafe { buffer::show(slf.into_any(), &bytes, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter releases each view of `__getbuffer__` once.
        unsafe { buffer::release(view) };
    }
}

fn address(storage: &Storage) -> opforge::Result<usize> {
    if storage.device().is_meta() || storage.nbytes() == 0 {
        return Ok(0);
    }
    Ok(storage.expose()?.as_ptr().addr())
}

#[pymethods]
impl PyTensor {
    /// The memory that this tensor and its views share.
    fn untyped_storage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyStorage>> {
        object(py, self.tensor(py).storage())
    }

    /// The memory that this tensor and its views share.
    fn storage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyStorage>> {
        object(py, self.tensor(py).storage())
    }

    /// The address of the first element; 0 where there are none. Kernels on this memory run before their calls return from now on.
    fn data_ptr(&self, py: Python<'_>) -> PyResult<usize> {
        let tensor = self.tensor(py);
        let offset = tensor.layout().start_offset() * tensor.dtype().size_in_bytes();
        let first = if tensor.elem_count() == 0 { 0 } else { address(tensor.storage()).or_raise(py)? };
        Ok(if first == 0 { 0 } else { first + offset })
    }

    /// Whether other processes see the memory.
    fn is_shared(&self) -> bool {
        false
    }

    /// For programs that hand tensors to other processes: pickle copies them, nothing needs to be moved.
    fn share_memory_<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// Main memory needs no pinning.
    #[pyo3(signature = (device = None))]
    fn pin_memory<'py>(slf: &Bound<'py, Self>, device: Option<&Bound<'py, PyAny>>) -> Bound<'py, Self> {
        let _ = device; // There is one memory.
        slf.clone()
    }

    /// Whether a GPU may read the memory directly.
    #[pyo3(signature = (device = None))]
    fn is_pinned(&self, device: Option<&Bound<'_, PyAny>>) -> bool {
        let _ = device; // There is one memory.
        false
    }
}
