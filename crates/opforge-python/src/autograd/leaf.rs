//! What tensors have of autograd.

use std::sync::Arc;

use opforge::autograd::{enable_grad, record_function};
use opforge::{Error, Result, Tensor};
use pyo3::prelude::*;

use super::graph::PyGradFn;
use super::{backward, hooks};
use crate::error::OrRaise;
use crate::tensor::{PyTensor, leaves};

/// Other elements in the place of a tensor that was computed: its gradient goes on to what it was computed from.
fn computed_anew(old: &Tensor, new: Tensor) -> Result<Tensor> {
    if old.shape() != new.shape() || old.dtype() != new.dtype() {
        let shown = |t: &Tensor| format!("{}{:?}", t.dtype(), t.dims());
        return Err(Error::value("data", "value", shown(&new), format!("{}, as it was computed", shown(old))));
    }
    let same = |grads: &[Option<Tensor>], _: &[bool]| Ok(vec![grads[0].clone()]);
    Ok(enable_grad(|| record_function("data", &[old], &[new], &[true], Arc::new(same)))?.remove(0))
}

#[pymethods]
impl PyTensor {
    /// Whether gradients flow to this tensor.
    #[getter]
    fn requires_grad(&self, py: Python<'_>) -> bool {
        self.tensor(py).requires_grad()
    }

    #[setter]
    fn set_requires_grad(slf: &Bound<'_, Self>, requires_grad: bool) -> PyResult<()> {
        PyTensor::of(slf).set_requires_grad(requires_grad).or_raise(slf.py())?;
        leaves::remember(slf)
    }

    /// Makes a leaf collect gradients, or stop doing so; returns the tensor.
    #[pyo3(signature = (requires_grad = true))]
    fn requires_grad_<'py>(slf: &Bound<'py, Self>, requires_grad: bool) -> PyResult<Bound<'py, Self>> {
        PyTensor::of(slf).set_requires_grad(requires_grad).or_raise(slf.py())?;
        leaves::remember(slf)?;
        Ok(slf.clone())
    }

    /// Whether this tensor was not computed from others that need a gradient.
    #[getter]
    fn is_leaf(&self, py: Python<'_>) -> bool {
        self.tensor(py).is_leaf()
    }

    /// The gradient that `backward` has accumulated.
    #[getter]
    fn grad(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.tensor(py).grad().map(|grad| Self::wrap(py, grad)).transpose()
    }

    #[setter]
    fn set_grad(&self, py: Python<'_>, grad: Option<&Bound<'_, PyTensor>>) -> PyResult<()> {
        self.tensor(py).set_grad(grad.map(PyTensor::of).as_ref()).or_raise(py)
    }

    #[deleter]
    fn delete_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.tensor(py).set_grad(None).or_raise(py)
    }

    /// The recorded operator that computed this tensor.
    #[getter]
    fn grad_fn(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.tensor(py).grad_fn().map(|call| PyGradFn::wrap(py, call)).transpose()
    }

    /// Which output of `grad_fn` this is.
    #[getter]
    fn output_nr(&self, py: Python<'_>) -> usize {
        self.tensor(py).output_nr()
    }

    /// The same elements, outside of the graph.
    fn detach(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::wrap(py, self.tensor(py).detach())
    }

    /// Takes this tensor out of the graph.
    fn detach_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        PyTensor::of(slf).detach_().or_raise(slf.py())?;
        Ok(slf.clone())
    }

    /// The same elements, outside of the graph: backward does not notice what is changed in place through them. Assigning makes the tensor
    /// stand for other elements; gradient, hooks and `requires_grad` stay.
    #[getter]
    fn data(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::wrap(py, self.tensor(py).untracked())
    }

    #[setter]
    fn set_data(slf: &Bound<'_, Self>, data: &Bound<'_, PyTensor>) -> PyResult<()> {
        let (py, old, new) = (slf.py(), PyTensor::of(slf), PyTensor::of(data));
        if !old.is_leaf() {
            slf.get().replace(py, computed_anew(&old, new.untracked()).or_raise(py)?);
            return Ok(());
        }
        let new = new.untracked_in_place_of(&old);
        new.set_requires_grad(old.requires_grad()).or_raise(py)?;
        if old.shape() != new.shape() || old.dtype() != new.dtype() {
            new.set_grad(None).or_raise(py)?;
        }
        slf.get().replace(py, new);
        leaves::remember(slf)
    }

    /// Whether this tensor shows elements of another one.
    fn _is_view(&self, py: Python<'_>) -> bool {
        self.tensor(py).base().is_some()
    }

    /// The tensor, itself not a view, whose elements this view shows.
    #[getter]
    fn _base(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.tensor(py).base().map(|base| leaves::object(py, base)).transpose()
    }

    /// Adds the gradients of this tensor (times `gradient`) to `.grad` of the leaves that it was computed from.
    #[pyo3(signature = (gradient = None, retain_graph = None, create_graph = false, inputs = None))]
    fn backward(
        slf: &Bound<'_, Self>,
        gradient: Option<&Bound<'_, PyAny>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        backward(slf.as_any(), gradient, retain_graph, create_graph, inputs)
    }

    /// Keeps the gradient of a computed tensor in `.grad`.
    fn retain_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.tensor(py).retain_grad().or_raise(py)
    }

    /// Whether the gradient of this computed tensor is kept.
    #[getter]
    fn retains_grad(&self, py: Python<'_>) -> bool {
        self.tensor(py).retains_grad()
    }

    /// Has `hook(grad)` called when the gradient of this tensor is known; what it returns, if anything, replaces the gradient.
    fn register_hook(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<hooks::RemovableHandle> {
        hooks::register(py, self.tensor(py), hook)
    }

    /// Has `hook(tensor)` called when a gradient has been added to `.grad` of this leaf.
    fn register_post_accumulate_grad_hook(slf: &Bound<'_, Self>, hook: Py<PyAny>) -> PyResult<hooks::RemovableHandle> {
        hooks::register_after(slf, hook)
    }
}
