//! Gradients: the graph, backward, hooks, and functions with a backward written in Python.

mod function;
mod graph;
mod hooks;
mod leaf;

use opforge::Tensor;
use opforge::autograd::{self, BackwardOptions, GradMode};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::OrRaise;
use crate::front_end;
use crate::tensor::PyTensor;

pub use function::{PySavedTensor, record_function};
pub use graph::PyGradFn;
pub use hooks::RemovableHandle;

/// Sets whether this thread records operators; gives how it was before.
#[pyfunction]
pub fn set_grad_mode(enabled: bool) -> bool {
    let before = autograd::is_grad_enabled();
    std::mem::forget(GradMode::set(enabled));
    before
}

/// Whether this thread records operators.
#[pyfunction]
pub fn is_grad_enabled() -> bool {
    autograd::is_grad_enabled()
}

/// Sets whether backward passes check gradients for NaN; gives how it was before.
#[pyfunction]
pub fn _set_nan_checks(on: bool) -> bool {
    autograd::set_nan_checks(on)
}

/// One tensor or a sequence of them.
fn several<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
    match value.cast::<PyTensor>() {
        Ok(tensor) => Ok(vec![tensor.clone()]),
        Err(_) => value.try_iter()?.map(|item| Ok(item?.cast_into::<PyTensor>()?)).collect(),
    }
}

fn tensors_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    Ok(several(value)?.iter().map(PyTensor::of).collect())
}

/// As many optional tensors as there are roots.
fn seeds(value: Option<&Bound<'_, PyAny>>, roots: usize) -> PyResult<Vec<Option<Tensor>>> {
    let Some(value) = value else { return Ok(vec![None; roots]) };
    let mut seeds = match value.cast::<PyTensor>() {
        Ok(tensor) => vec![Some(PyTensor::of(tensor))],
        Err(_) => value.try_iter()?.map(|item| PyTensor::optional(&item?)).collect::<PyResult<Vec<_>>>()?,
    };
    seeds.resize(roots, None);
    Ok(seeds)
}

fn roots(tensors: &Bound<'_, PyAny>, grads: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(Tensor, Option<Tensor>)>> {
    let tensors = tensors_of(tensors)?;
    let seeds = seeds(grads, tensors.len())?;
    Ok(tensors.into_iter().zip(seeds).collect())
}

/// Runs a backward without the interpreter's lock; Python's hooks and functions take it when they need it.
fn run<R: Send>(py: Python<'_>, f: impl FnOnce() -> opforge::Result<R> + Send) -> PyResult<R> {
    let place = front_end::place(py);
    py.detach(|| front_end::on_behalf_of(place, f)).or_raise(py)
}

/// Adds the gradients of the tensors' sum to `.grad` of the leaves that they were computed from, or of `inputs` alone.
#[pyfunction]
#[pyo3(signature = (tensors, grad_tensors = None, retain_graph = None, create_graph = false, inputs = None))]
pub fn backward(
    tensors: &Bound<'_, PyAny>,
    grad_tensors: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = tensors.py();
    let roots = roots(tensors, grad_tensors)?;
    let inputs = inputs.map(tensors_of).transpose()?;
    let options = BackwardOptions { retain_graph: retain_graph.unwrap_or(create_graph), create_graph };
    run(py, move || {
        let inputs: Option<Vec<&Tensor>> = inputs.as_ref().map(|all| all.iter().collect());
        autograd::accumulate(&roots, inputs.as_deref(), options)
    })
}

/// Has `callback()` called when the outermost backward under way in this thread has added all gradients. A backward that fails drops it.
#[pyfunction]
pub fn at_the_end_of_backward(py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
    let call = move || Python::attach(|py| callback.call0(py).map(drop)).map_err(opforge::Error::wrap);
    autograd::at_the_end(Box::new(call)).or_raise(py)
}

/// The gradients of the outputs' sum with respect to the inputs, as a tuple; `.grad` stays as it is.
#[pyfunction]
#[pyo3(signature = (
    outputs, inputs, grad_outputs = None, retain_graph = None, create_graph = false, only_inputs = true,
    allow_unused = None, is_grads_batched = false, materialize_grads = false,
))]
#[allow(clippy::too_many_arguments, unused_variables)]
pub fn grad<'py>(
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Option<&Bound<'py, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    only_inputs: bool,
    allow_unused: Option<bool>,
    is_grads_batched: bool,
    materialize_grads: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = outputs.py();
    let roots = roots(outputs, grad_outputs)?;
    let inputs = tensors_of(inputs)?;
    let options = BackwardOptions { retain_graph: retain_graph.unwrap_or(create_graph), create_graph };
    let allow_unused = allow_unused.unwrap_or(materialize_grads);
    let grads = run(py, || {
        autograd::check_roots(&roots)?;
        let found = autograd::grad(&roots, &inputs.iter().collect::<Vec<_>>(), options)?;
        let complete = |(grad, input): (Option<Tensor>, &Tensor)| match grad {
            None if materialize_grads => input.zeros_like().map(Some),
            None if !allow_unused => Err(unused()),
            grad => Ok(grad),
        };
        found.into_iter().zip(&inputs).map(complete).collect::<opforge::Result<Vec<_>>>()
    })?;
    PyTuple::new(py, grads.into_iter().map(|grad| grad.map(PyTensor::from)))
}

fn unused() -> opforge::Error {
    let given = "one of the differentiated tensors appears to not have been used in the graph";
    opforge::Error::autograd("grad", "inputs", given, "tensors that the outputs depend on; or allow_unused=True")
}
