//! numpy's arrays as tensors and tensors as numpy's arrays, sharing memory. numpy is imported when it is first needed.

use opforge::{DType, Error, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyMemoryView, PyType};

use super::{PyTensor, buffer};
use crate::error::{OrRaise, raise};
use crate::front_end;

static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Whether an object is one of numpy's arrays. Where nobody has imported numpy there are none.
pub fn is_ndarray(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    if let Some(class) = NDARRAY.get(py) {
        return object.is_instance(class.bind(py));
    }
    let modules = py.import("sys")?.getattr("modules")?;
    if !modules.contains("numpy")? {
        return Ok(false);
    }
    let class = modules.get_item("numpy")?.getattr("ndarray")?.cast_into::<PyType>()?;
    object.is_instance(NDARRAY.get_or_init(py, || class.unbind()).bind(py))
}

/// A copy of an array with its elements aligned, in this machine's byte order and in row-major order.
pub fn in_native_order<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let native = array.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
    let options = PyDict::new(array.py());
    options.set_item("order", "C")?;
    options.set_item("copy", true)?;
    array.call_method("astype", (native,), Some(&options))
}

/// A tensor that shares the memory of a numpy array, and is read-only if the array is.
///
/// Writes through either are seen by the other. TypeError for anything but arrays of bool, integers, floats and complex numbers; ValueError
/// for negative strides and for another byte order.
#[pyfunction]
pub fn from_numpy(ndarray: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if !is_ndarray(ndarray)? {
        let class = ndarray.get_type().name()?;
        return Err(PyTypeError::new_err(format!("from_numpy(): expected np.ndarray (got {class})")));
    }
    PyTensor::wrap(ndarray.py(), buffer::import("from_numpy", ndarray)?)
}

/// numpy's dtype of a float of 8 bits, which the package `ml_dtypes` gives it.
fn small_dtype<'py>(py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    let found = py.import("ml_dtypes").and_then(|package| package.getattr(dtype.long_name()));
    let accepted = "dtypes that numpy has, and with the package ml_dtypes those of 8 bits; see Tensor.float";
    found.map_err(|_| raise(py, &Error::dtype("numpy", "input", dtype.long_name(), accepted)))
}

/// A tensor over a numpy array of floats of 8 bits; none over anything else.
pub fn small_floats(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if !is_ndarray(object)? {
        return Ok(None);
    }
    let name: String = object.getattr("dtype")?.getattr("name")?.extract()?;
    let Some(dtype) = DType::ALL.into_iter().find(|d| d.is_storage_only() && d.long_name() == name) else {
        return Ok(None);
    };
    let bytes = buffer::import(op, &object.call_method1("view", ("uint8",))?)?;
    opforge::functional::view_dtype(&bytes, dtype).or_raise(object.py()).map(Some)
}

/// The array over a tensor's memory.
fn array<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    if tensor.requires_grad() && opforge::autograd::is_grad_enabled() {
        let text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.";
        return Err(raise(py, &Error::msg(text)));
    }
    if tensor.dtype() == DType::BF16 {
        let accepted = "dtypes that numpy has; see Tensor.float";
        return Err(raise(py, &Error::dtype("numpy", "input", "bfloat16", accepted)));
    }
    if opforge_dist::global::placement_of(*tensor.device()).is_some() {
        let whole = front_end::attempt(|| tensor.detach().to_device(&opforge::Device::Cpu)).or_raise(py)?;
        return array(py, &whole);
    }
    if !tensor.device().is_cpu() {
        let hint =
            if tensor.device().is_meta() { "" } else { ". Use Tensor.cpu() to copy the tensor to host memory first." };
        let text = format!("can't convert {} device type tensor to numpy{hint}", tensor.device());
        return Err(PyTypeError::new_err(text));
    }
    // The array's base is a memoryview, which holds the tensor. Of a tensor without one numpy would ask for an array again.
    let over = |tensor: Tensor| {
        let view = PyMemoryView::from(PyTensor::wrap(py, tensor)?.bind(py))?;
        py.import("numpy")?.call_method1("asarray", (view,))
    };
    if tensor.dtype().is_storage_only() {
        let dtype = small_dtype(py, tensor.dtype())?;
        let bytes = opforge::functional::view_dtype(&tensor.detach(), DType::U8).or_raise(py)?;
        return over(bytes)?.call_method1("view", (dtype,));
    }
    over(tensor.detach())
}

#[pymethods]
impl PyTensor {
    /// As a numpy array over the same memory: writes through either are seen by the other, though autograd does not notice those through the
    /// array. `force` detaches first.
    #[pyo3(signature = (*, force = false))]
    fn numpy<'py>(&self, py: Python<'py>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor(py);
        array(py, &if force { tensor.detach() } else { tensor })
    }

    /// numpy's way to ask for an array.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = array(py, &self.tensor(py))?;
        let same = match dtype {
            Some(dtype) if !dtype.is_none() => array.getattr("dtype")?.eq(dtype)?,
            _ => true,
        };
        match (same, copy) {
            (true, Some(true)) => array.call_method0("copy"),
            (true, _) => Ok(array),
            (false, Some(false)) => Err(PyValueError::new_err("another dtype cannot be had without a copy")),
            (false, _) => array.call_method1("astype", (dtype,)),
        }
    }

    /// Results of numpy's functions on tensors are tensors.
    #[pyo3(signature = (array, _context = None, _return_scalar = false))]
    fn __array_wrap__(
        &self,
        array: &Bound<'_, PyAny>,
        _context: Option<&Bound<'_, PyAny>>,
        _return_scalar: bool,
    ) -> PyResult<Py<PyAny>> {
        PyTensor::wrap(array.py(), buffer::import("from_numpy", array)?)
    }

    /// Makes numpy's arrays leave operators to tensors.
    #[classattr]
    fn __array_priority__() -> i64 {
        1000
    }
}
