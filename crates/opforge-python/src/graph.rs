//! Graphs: what `opforge.compile` and `opforge.nn.Graph` are made of.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use opforge::{Error, Tensor};
use opforge_graph::{Function, Program, trace};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// A traced function.
#[pyclass(name = "GraphFunction", module = "opforge", frozen)]
pub struct PyGraphFunction(Traced);

enum Traced {
    /// One that gradients flow through.
    Function(Function),
    /// One that is a whole step: results carry no gradient.
    Step(Program),
}

impl Traced {
    fn program(&self) -> &Program {
        match self {
            Traced::Function(function) => function.forward(),
            Traced::Step(program) => program,
        }
    }
}

fn tensors(objects: &Bound<'_, PyList>) -> PyResult<Vec<Tensor>> {
    objects.iter().map(|object| Ok(PyTensor::of(object.cast::<PyTensor>()?))).collect()
}

/// Traces a function of a list of tensors, which returns a list of tensors. `step`: whether results carry no gradient.
#[pyfunction]
#[pyo3(signature = (function, examples, step = false))]
pub fn _trace(function: &Bound<'_, PyAny>, examples: &Bound<'_, PyList>, step: bool) -> PyResult<PyGraphFunction> {
    let py = function.py();
    let examples = tensors(examples)?;
    let examples: Vec<&Tensor> = examples.iter().collect();
    let call = |arguments: &[Tensor]| -> PyResult<Vec<Tensor>> {
        let arguments = PyList::new(py, arguments.iter().cloned().map(PyTensor::from))?;
        let results = function.call1((arguments,))?;
        tensors(results.cast::<PyList>()?)
    };
    let call = |arguments: &[Tensor]| call(arguments).map_err(Error::wrap);
    let traced = if step {
        trace(&examples, call).and_then(|graph| graph.compile()).map(Traced::Step)
    } else {
        Function::trace(&examples, call).map(Traced::Function)
    };
    traced.or_raise(py).map(PyGraphFunction)
}

/// A number that tells tensors as they are now from others: where their elements lie, how, and whether they need gradients.
#[pyfunction]
pub fn _identity(objects: &Bound<'_, PyList>) -> PyResult<u64> {
    let mut hasher = DefaultHasher::new();
    for tensor in tensors(objects)? {
        Arc::as_ptr(tensor.storage()).hash(&mut hasher);
        (tensor.meta(), tensor.requires_grad()).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

#[pymethods]
impl PyGraphFunction {
    /// Whether the function was traced for tensors like these.
    fn accepts(&self, arguments: &Bound<'_, PyList>) -> PyResult<bool> {
        let arguments = tensors(arguments)?;
        let arguments: Vec<&Tensor> = arguments.iter().collect();
        Ok(match &self.0 {
            Traced::Function(function) => function.accepts(&arguments),
            Traced::Step(program) => program.accepts(&arguments),
        })
    }

    /// The results.
    fn __call__<'py>(&self, py: Python<'py>, arguments: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
        let arguments = tensors(arguments)?;
        let arguments: Vec<&Tensor> = arguments.iter().collect();
        let results = match &self.0 {
            Traced::Function(function) => function.call(&arguments),
            Traced::Step(program) => program.run(&arguments),
        };
        PyList::new(py, results.or_raise(py)?.into_iter().map(PyTensor::from))
    }

    /// The kernels and why they are several; with gradients, those backwards too.
    fn explain(&self) -> String {
        let backward = match &self.0 {
            Traced::Function(function) => function.backward(),
            Traced::Step(_) => None,
        };
        let further = backward.map(|program| format!("\nbackward:\n{}", program.explain()));
        self.0.program().explain() + &further.unwrap_or_default()
    }

    /// A table of the kernels' times: medians of so many runs.
    #[pyo3(signature = (arguments, runs = 20))]
    fn measure(&self, arguments: &Bound<'_, PyList>, runs: usize) -> PyResult<String> {
        let (py, arguments) = (arguments.py(), tensors(arguments)?);
        let arguments: Vec<&Tensor> = arguments.iter().collect();
        let table = py.detach(|| self.0.program().measure(&arguments, runs).map(|timings| timings.to_string()));
        table.or_raise(py)
    }

    /// A picture of the kernels, as SVG.
    fn draw(&self) -> String {
        self.0.program().draw()
    }

    /// The calls, a line each.
    fn __str__(&self) -> String {
        self.0.program().to_string()
    }
}
