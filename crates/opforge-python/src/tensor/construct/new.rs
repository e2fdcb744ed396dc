//! `Tensor(..)`, which also makes the instances of subclasses.

use opforge::functional::default_dtype;
use opforge::{DType, Device, Layout, Shape, Tensor};
use opforge_runtime::Storage;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::super::{PyTensor, leaves, size};
use super::{Like, from_data, with_grad};
use crate::binding;
use crate::cell::Cell;
use crate::error::OrRaise;

/// A tensor of a shape; its elements are zeros until they are written.
fn of_size(size: Shape, like: Like) -> opforge::Result<Tensor> {
    let dtype = like.dtype.unwrap_or_else(default_dtype);
    size.check("new", dtype.size_in_bytes())?;
    let storage = Storage::new(like.device.unwrap_or(Device::Cpu), size.elem_count() * dtype.size_in_bytes())?;
    Tensor::over_storage(storage, dtype, Layout::contiguous(size))
}

/// What `Tensor(*args)` stands for: no elements, elements of a size given as numbers, a tensor's elements, or a copy of data.
fn construct(args: &Bound<'_, PyTuple>, like: Like) -> PyResult<Tensor> {
    let py = args.py();
    let only = if args.len() == 1 { args.get_item(0).ok() } else { None };
    if let Some(tensor) = only.as_ref().and_then(|only| only.cast::<PyTensor>().ok()) {
        return Ok(tensor.get().tensor(py).detach());
    }
    let size = match &only {
        Some(only) if size::is_size(only) => only.cast::<PyTuple>()?.clone(),
        _ => args.clone(),
    };
    let lengths = size.iter().map(|length| binding::int(length.as_borrowed())).collect::<Option<Vec<i64>>>();
    if let Some(lengths) = lengths {
        let lengths = if lengths.is_empty() && only.is_none() { vec![0] } else { lengths };
        let size = opforge::functional::size_to_shape("new", &lengths).or_raise(py)?;
        return of_size(size, like).or_raise(py);
    }
    match only {
        Some(data) if binding::scalar(data.as_borrowed()).is_none() => {
            let dtype = like.dtype.or_else(|| Some(default_dtype()));
            from_data("new", &data, Like { dtype, ..like })
        }
        _ => Err(PyTypeError::new_err(format!("new(): data must be a sequence or a size, not {}", args.repr()?))),
    }
}

/// The options of a constructor: only `device` has a meaning.
fn options(options: Option<&Bound<'_, PyDict>>, dtype: Option<DType>) -> PyResult<Like> {
    let mut like = Like { dtype, device: None };
    for (name, value) in options.into_iter().flatten() {
        match name.extract::<String>()?.as_str() {
            "device" => like.device = super::device(Some(&value))?,
            other => return Err(PyTypeError::new_err(format!("new(): got an unexpected keyword argument '{other}'"))),
        }
    }
    Ok(like)
}

/// An instance of a class that derives from `Tensor`.
pub fn instance<'py>(class: &Bound<'py, PyType>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    if class.is(py.get_type::<PyTensor>()) {
        return Ok(PyTensor::wrap(py, tensor)?.into_bound(py));
    }
    let made = py.get_type::<PyTensor>().call_method1("__new__", (class,))?;
    made.cast::<PyTensor>()?.get().replace(py, tensor);
    Ok(made)
}

#[pymethods]
impl PyTensor {
    #[new]
    #[pyo3(signature = (*args, **kwargs))]
    fn new(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(PyTensor(Cell::new(construct(args, options(kwargs, None)?)?)))
    }

    /// An instance of a subclass over the memory of `data`, outside of its graph. The class's `__init__` does not run.
    #[staticmethod]
    #[pyo3(signature = (cls, data, require_grad = false))]
    fn _make_subclass<'py>(
        cls: &Bound<'py, PyType>,
        data: &Bound<'py, PyTensor>,
        require_grad: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = cls.py();
        let made = instance(cls, with_grad(py, data.get().tensor(py).detach(), require_grad)?)?;
        leaves::remember(&made)?;
        Ok(made)
    }

    /// The tensor as an instance of a subclass.
    fn as_subclass<'py>(&self, py: Python<'py>, cls: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        instance(cls, self.tensor(py))
    }

    /// As `Tensor(..)`, of this tensor's dtype and device.
    #[pyo3(name = "new", signature = (*args, **kwargs))]
    fn new_like(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor(py);
        let like = options(kwargs, Some(tensor.dtype()))?;
        let device = like.device.or(Some(*tensor.device()));
        Self::wrap(py, construct(args, Like { device, ..like })?)
    }

    /// As `opforge.tensor`, of this tensor's dtype and device unless others are given.
    #[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false))]
    fn new_tensor(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        requires_grad: bool,
    ) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor(py);
        let dtype = super::dtype(dtype)?.or(Some(tensor.dtype()));
        let device = super::device(device)?.or(Some(*tensor.device()));
        let made = from_data("new_tensor", data, Like { dtype, device })?;
        Self::wrap(py, with_grad(py, made, requires_grad)?)
    }
}
