//! The class `Tensor`: what it has beyond the declared functions.

mod buffer;
mod cast;
mod construct;
mod dlpack;
mod host;
mod index;
mod numpy;
mod operators;
mod pickle;
mod properties;
mod repr;
mod storage;

use opforge::Tensor;
use pyo3::prelude::*;

use crate::cell::Cell;

pub use host::item;
pub use properties::set_size_class;
pub use storage::PyStorage;

/// A tensor: elements of one dtype in a shape, on a device. The methods are the declared functions'; see `opforge.Tensor.add` and so on.
#[pyclass(name = "Tensor", module = "opforge", subclass, weakref, dict, frozen)]
pub struct PyTensor(Cell<Tensor>);

impl PyTensor {
    /// A new Python object for a tensor.
    #[inline]
    pub fn wrap(py: Python<'_>, tensor: Tensor) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, PyTensor(Cell::new(tensor)))?.into_any())
    }

    /// The tensor that the object stands for now.
    #[inline]
    pub fn tensor(&self, py: Python<'_>) -> Tensor {
        self.0.get(py)
    }

    /// Makes the object stand for another tensor.
    pub fn replace(&self, py: Python<'_>, tensor: Tensor) {
        self.0.set(py, tensor);
    }
}

/// The functions of the module that make tensors of Python's data.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<storage::PyStorage>()?;
    module.add_function(wrap_pyfunction!(pickle::_rebuild_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(construct::tensor, module)?)?;
    module.add_function(wrap_pyfunction!(construct::as_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(construct::asarray, module)?)?;
    module.add_function(wrap_pyfunction!(construct::frombuffer, module)?)?;
    module.add_function(wrap_pyfunction!(numpy::from_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(dlpack::from_dlpack, module)?)
}
