//! Gradients: the graph, backward, hooks, and functions with a backward written in Python.

mod function;
mod graph;
mod hooks;
mod leaf;

use opforge::Tensor;
use opforge::autograd::{self, BackwardOptions, GradMode};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::OrRaise;
use crate::front_end;
use crate::tensor::PyTensor;

/// Sets whether this thread records operators; gives how it was before.
#[pyfunction]
fn set_grad_mode(enabled: bool) -> bool {
    let before = autograd::is_grad_enabled();
    std::mem::forget(GradMode::set(enabled));
    before
}

/// Whether this thread records operators.
#[pyfunction]
fn is_grad_enabled() -> bool {
    autograd::is_grad_enabled()
}

/// One tensor or a sequence of them.
pub fn several<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
    match value.cast::<PyTensor>() {
        Ok(tensor) => Ok(vec![tensor.clone()]),
        Err(_) => value.try_iter()?.map(|item| Ok(item?.cast_into::<PyTensor>()?)).collect(),
    }
}

/// As many optional tensors as there are roots.
fn seeds(value: Option<&Bound<'_, PyAny>>, roots: usize) -> PyResult<Vec<Option<Tensor>>> {
    let tensor = |item: Bound<'_, PyAny>| -> PyResult<Option<Tensor>> {
        if item.is_none() { Ok(None) } else { Ok(Some(item.cast::<PyTensor>()?.get().tensor(item.py()))) }
    };
    let Some(value) = value else { return Ok(vec![None; roots]) };
    let mut seeds = match value.cast::<PyTensor>() {
        Ok(_) => vec![tensor(value.clone())?],
        Err(_) => value.try_iter()?.map(|item| tensor(item?)).collect::<PyResult<Vec<_>>>()?,
    };
    seeds.resize(roots, None);
    Ok(seeds)
}

fn roots(tensors: &Bound<'_, PyAny>, grads: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(Tensor, Option<Tensor>)>> {
    let tensors = several(tensors)?;
    let seeds = seeds(grads, tensors.len())?;
    Ok(tensors.iter().map(|t| t.get().tensor(t.py())).zip(seeds).collect())
}

/// Runs a backward without the interpreter's lock; Python's hooks and functions take it when they need it.
fn run<R: Send>(py: Python<'_>, f: impl FnOnce() -> opforge::Result<R> + Send) -> PyResult<R> {
    let place = front_end::place(py);
    py.detach(|| front_end::on_behalf_of(place, f)).or_raise(py)
}

/// Adds the gradients of the tensors' sum to `.grad` of the leaves that they were computed from, or of `inputs` alone.
#[pyfunction]
#[pyo3(signature = (tensors, grad_tensors = None, retain_graph = None, create_graph = false, inputs = None))]
fn backward(
    tensors: &Bound<'_, PyAny>,
    grad_tensors: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = tensors.py();
    let roots = roots(tensors, grad_tensors)?;
    let inputs = inputs.map(several).transpose()?;
    let inputs: Option<Vec<Tensor>> = inputs.map(|all| all.iter().map(|t| t.get().tensor(py)).collect());
    let options = BackwardOptions { retain_graph: retain_graph.unwrap_or(create_graph), create_graph };
    run(py, move || {
        let inputs: Option<Vec<&Tensor>> = inputs.as_ref().map(|all| all.iter().collect());
        autograd::accumulate(&roots, inputs.as_deref(), options)
    })
}

/// The gradients of the outputs' sum with respect to the inputs, as a tuple; `.grad` stays as it is.
#[pyfunction]
#[pyo3(signature = (
    outputs, inputs, grad_outputs = None, retain_graph = None, create_graph = false, only_inputs = true,
    allow_unused = None, is_grads_batched = false, materialize_grads = false,
))]
#[allow(clippy::too_many_arguments, unused_variables)]
fn grad<'py>(
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
    let inputs: Vec<Tensor> = several(inputs)?.iter().map(|t| t.get().tensor(py)).collect();
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
    let objects = grads.into_iter().map(|grad| grad.map(|grad| PyTensor::wrap(py, grad)).transpose());
    PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)
}

fn unused() -> opforge::Error {
    let given = "one of the differentiated tensors appears to not have been used in the graph";
    opforge::Error::autograd("grad", "inputs", given, "tensors that the outputs depend on; or allow_unused=True")
}

/// Objects for gradients, `None` where there is none.
fn objects<'py>(py: Python<'py>, tensors: &[Option<Tensor>]) -> PyResult<Bound<'py, PyList>> {
    let object = |tensor: &Option<Tensor>| tensor.clone().map(|t| PyTensor::wrap(py, t)).transpose();
    PyList::new(py, tensors.iter().map(object).collect::<PyResult<Vec<_>>>()?)
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_grad_mode, module)?)?;
    module.add_function(wrap_pyfunction!(is_grad_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(backward, module)?)?;
    module.add_function(wrap_pyfunction!(grad, module)?)?;
    module.add_function(wrap_pyfunction!(function::record_function, module)?)?;
    module.add_class::<function::PySavedTensor>()?;
    module.add_class::<graph::PyGradFn>()?;
    module.add_class::<hooks::RemovableHandle>()
}
