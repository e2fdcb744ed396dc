//! Hooks on tensors, and the handles that remove them.

use std::sync::Arc;

use opforge::autograd::HookId;
use opforge::{Error, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// What takes a hook away again.
#[pyclass(module = "opforge", frozen)]
pub struct RemovableHandle {
    tensor: Tensor,
    id: HookId,
}

#[pymethods]
impl RemovableHandle {
    /// Takes the hook away.
    fn remove(&self) {
        self.tensor.remove_hook(self.id.clone());
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        self.remove();
    }
}

pub fn register(py: Python<'_>, tensor: Tensor, hook: Py<PyAny>) -> PyResult<RemovableHandle> {
    let call = move |grad: &Tensor| {
        let run = |py: Python<'_>| PyTensor::optional(&hook.bind(py).call1((PyTensor::from(grad.clone()),))?);
        Python::attach(run).map_err(Error::wrap)
    };
    let id = tensor.register_hook(Arc::new(call)).or_raise(py)?;
    Ok(RemovableHandle { tensor, id })
}

pub fn register_after(object: &Bound<'_, PyTensor>, hook: Py<PyAny>) -> PyResult<RemovableHandle> {
    let py = object.py();
    let tensor = PyTensor::of(object);
    // Not the object itself: the tensor would keep it, and with it itself, alive.
    let weak = PyWeakrefReference::new(object)?.unbind();
    let call = move |_: &Tensor| {
        let run = |py: Python<'_>| match weak.bind(py).upgrade() {
            Some(object) => hook.bind(py).call1((object,)).map(drop),
            None => Ok(()),
        };
        Python::attach(run).map_err(Error::wrap)
    };
    let id = tensor.register_post_accumulate_grad_hook(Arc::new(call)).or_raise(py)?;
    Ok(RemovableHandle { tensor, id })
}
