//! The class `Tensor`: what it has beyond the declared functions.

mod buffer;
mod cast;
mod construct;
mod dlpack;
mod host;
mod index;
pub mod leaves;
mod numpy;
mod operators;
mod pickle;
mod properties;
mod repr;
mod size;
mod storage;

use opforge::Tensor;
use pyo3::prelude::*;

use crate::cell::Cell;

pub use construct::{as_tensor, asarray, frombuffer, tensor};
pub use dlpack::{from_dlpack, install as install_exchange};
pub use host::item;
pub use numpy::from_numpy;
pub use pickle::_rebuild_tensor;
pub use size::{base as shape_class, set_size_class};
pub use storage::PyStorage;

/// A tensor: elements of one dtype in a shape, on a device. The methods are the declared functions'; see `opforge.Tensor.add` and so on.
#[pyclass(name = "Tensor", module = "opforge", subclass, weakref, dict, frozen)]
pub struct PyTensor(Cell<Tensor>);

impl From<Tensor> for PyTensor {
    #[inline]
    fn from(tensor: Tensor) -> Self {
        PyTensor(Cell::new(tensor))
    }
}

impl PyTensor {
    /// A new Python object for a tensor.
    #[inline]
    pub fn wrap(py: Python<'_>, tensor: Tensor) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, PyTensor::from(tensor))?.into_any())
    }

    /// The tensor that an object stands for now.
    #[inline]
    pub fn of(object: &Bound<'_, PyTensor>) -> Tensor {
        object.get().tensor(object.py())
    }

    /// The tensor that an object stands for now, or nothing for `None`.
    pub fn optional(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
        if object.is_none() { Ok(None) } else { Ok(Some(PyTensor::of(object.cast()?))) }
    }

    /// The tensor that this object stands for now.
    #[inline]
    pub fn tensor(&self, py: Python<'_>) -> Tensor {
        self.0.get(py)
    }

    /// Makes the object stand for another tensor.
    pub fn replace(&self, py: Python<'_>, tensor: Tensor) {
        self.0.set(py, tensor);
    }
}
