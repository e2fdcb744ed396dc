//! The Python objects of leaf tensors, so that walking a graph gives the program's own objects.

use opforge::Tensor;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::PyTensor;

/// Objects by their tensors' numbers, as long as somebody holds them.
fn known(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static KNOWN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || py.import("weakref")?.getattr("WeakValueDictionary")?.call0().map(Bound::unbind);
    Ok(KNOWN.get_or_try_init(py, make)?.bind(py))
}

/// Remembers the object of a tensor that needs a gradient.
pub fn remember(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let tensor = PyTensor::of(object.cast()?);
    if tensor.requires_grad() { known(object.py())?.set_item(tensor.id().number(), object) } else { Ok(()) }
}

/// The object of a tensor: the one that was remembered, if it still stands for it, or a new one.
pub fn object(py: Python<'_>, tensor: &Tensor) -> PyResult<Py<PyAny>> {
    let found = known(py)?.call_method1("get", (tensor.id().number(),))?;
    match found.cast::<PyTensor>() {
        Ok(known) if PyTensor::of(known).id() == tensor.id() => Ok(found.unbind()),
        _ => {
            let made = PyTensor::wrap(py, tensor.clone())?;
            remember(made.bind(py))?;
            Ok(made)
        }
    }
}
