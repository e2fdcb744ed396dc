//! Pickling and copying. Tensors that share memory still do among what is pickled or copied together.

use opforge::{Error, Layout, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::storage::{self, PyStorage};
use super::{PyTensor, buffer, construct};
use crate::dtype::{self, PyDType};
use crate::error::{OrRaise, raise};

/// A tensor over a storage: what [`PyTensor::__reduce_ex__`] has pickle call.
#[pyfunction]
#[pyo3(signature = (cls, storage, dtype, storage_offset, size, stride, requires_grad = false))]
pub fn _rebuild_tensor<'py>(
    cls: &Bound<'py, PyType>,
    storage: &Bound<'py, PyStorage>,
    dtype: &Bound<'py, PyDType>,
    storage_offset: usize,
    size: Vec<usize>,
    stride: Vec<usize>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = cls.py();
    if !cls.is_subclass_of::<PyTensor>()? {
        return Err(raise(py, &Error::dtype("rebuild_tensor", "cls", cls, "Tensor or a class that derives from it")));
    }
    let layout = Layout::new(size.into(), stride.into(), storage_offset, "rebuild_tensor");
    let tensor = layout.and_then(|layout| Tensor::over_storage(storage.get().storage().clone(), dtype.get().0, layout));
    let tensor = tensor.or_raise(py)?;
    if !tensor.device().is_meta() {
        buffer::check_truth("rebuild_tensor", &tensor).or_raise(py)?;
    }
    construct::instance(cls, construct::with_grad(py, tensor, requires_grad)?)
}

/// The attributes that a program has given a tensor; none if there are none.
fn attributes<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let attributes = tensor.getattr("__dict__")?.cast_into::<PyDict>()?;
    Ok(Some(attributes).filter(|attributes| !attributes.is_empty()))
}

#[pymethods]
impl PyTensor {
    /// For pickle and `copy.copy`: the storage, and where in it the elements are. Gradients are left out, as PyTorch does.
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, _protocol: i64) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let tensor = slf.get().tensor(py);
        let layout = tensor.layout();
        let rebuild = py.import("opforge._core")?.getattr("_rebuild_tensor")?;
        let args = (
            slf.get_type(),
            storage::object(py, tensor.storage())?,
            dtype::object(py, tensor.dtype())?,
            layout.start_offset(),
            PyTuple::new(py, layout.dims())?,
            PyTuple::new(py, layout.stride())?,
            tensor.requires_grad(),
        );
        (rebuild, args, attributes(slf)?).into_pyobject(py)
    }

    /// For `copy.deepcopy`: of leaves only; with their gradients.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let tensor = slf.get().tensor(py);
        if !tensor.is_leaf() {
            let accepted = "a leaf of the graph; see detach";
            return Err(raise(py, &Error::autograd("deepcopy", "tensor", "a computed tensor", accepted)));
        }
        let deepcopy = py.import("copy")?.getattr("deepcopy")?;
        let shared = storage::object(py, tensor.storage())?;
        let copied = deepcopy.call1((shared, memo))?.cast_into::<PyStorage>()?;
        let made = Tensor::over_storage(copied.get().storage().clone(), tensor.dtype(), tensor.layout().clone());
        let made = construct::with_grad(py, made.or_raise(py)?, tensor.requires_grad())?;
        if let Some(grad) = tensor.grad() {
            let grad = deepcopy.call1((PyTensor::wrap(py, grad)?, memo))?;
            made.set_grad(Some(&grad.cast::<PyTensor>()?.get().tensor(py))).or_raise(py)?;
        }
        let object = construct::instance(&slf.get_type(), made)?;
        memo.set_item(slf.as_ptr().addr(), &object)?;
        if let Some(attributes) = attributes(slf)? {
            object.getattr("__dict__")?.call_method1("update", (deepcopy.call1((attributes, memo))?,))?;
        }
        Ok(object)
    }
}
