//! Graphs: what `opforge.compile` and `opforge.nn.Graph` are made of.

use std::collections::HashMap;
use std::path::PathBuf;

use opforge::{Error, Tensor};
use opforge_graph::{DynamicGraph, Function, Program, Size, trace};
use pyo3::prelude::*;
use pyo3::types::PyList;

mod classes;
pub mod structure;
pub mod surroundings;
mod walk;

use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// A traced function.
#[pyclass(name = "GraphFunction", module = "opforge", frozen)]
pub struct PyGraphFunction(Traced);

enum Traced {
    /// One that gradients flow through.
    Function(Box<Function>),
    /// One that is a whole step: results carry no gradient.
    Step(Box<Program>),
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

/// What a function of a list of tensors returns for these.
///
/// # Errors
/// The function's, and for arguments that are other tensors now, as `unsqueeze_` and `.data` make them: whose they are would not see that.
fn call_list(function: &Bound<'_, PyAny>, arguments: &[Tensor]) -> PyResult<Vec<Tensor>> {
    let py = function.py();
    let objects = arguments.iter().map(|x| PyTensor::wrap(py, x.clone())).collect::<PyResult<Vec<_>>>()?;
    let results = tensors(function.call1((PyList::new(py, &objects)?,))?.cast::<PyList>()?)?;
    let is_same = |(object, x): (&Py<PyAny>, &Tensor)| {
        let now = PyTensor::of(object.bind(py).cast()?);
        PyResult::Ok(now.shares_storage(x) && now.meta() == x.meta())
    };
    for pair in objects.iter().zip(arguments) {
        if !is_same(pair)? {
            let accepted = "a function that leaves their shapes and memory as they are";
            return Err(Error::value("graph", "argument", "changed to another tensor", accepted)).or_raise(py);
        }
    }
    Ok(results)
}

/// Traces a function of a list of tensors, which returns a list of tensors. `step`: whether results carry no gradient.
#[pyfunction]
#[pyo3(signature = (function, examples, step = false))]
pub fn _trace(function: &Bound<'_, PyAny>, examples: &Bound<'_, PyList>, step: bool) -> PyResult<PyGraphFunction> {
    let py = function.py();
    let examples = tensors(examples)?;
    let examples: Vec<&Tensor> = examples.iter().collect();
    let call = |arguments: &[Tensor]| call_list(function, arguments).map_err(Error::wrap);
    let traced = if step {
        trace(&examples, call).and_then(|graph| graph.compile()).map(|program| Traced::Step(Box::new(program)))
    } else {
        // Cycles of Python's objects hold what nobody wants.
        let tidy = || drop(py.import("gc").and_then(|gc| gc.call_method0("collect")));
        Function::trace_and_tidy(&examples, call, tidy).map(|function| Traced::Function(Box::new(function)))
    };
    traced.or_raise(py).map(PyGraphFunction)
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

    /// As `accepts`, whatever else the function has read may be now: elements on the host, gradients that tensors keep.
    fn fits(&self, arguments: &Bound<'_, PyList>) -> PyResult<bool> {
        let arguments = tensors(arguments)?;
        let arguments: Vec<&Tensor> = arguments.iter().collect();
        Ok(match &self.0 {
            Traced::Function(function) => function.fits(&arguments),
            Traced::Step(program) => program.fits(&arguments),
        })
    }

    /// Whether the function gave tensors that it computes to others while it was traced; they are there after the first run.
    #[getter]
    fn keeps(&self) -> bool {
        matches!(&self.0, Traced::Function(function) if function.keeps())
    }

    /// Whether a run would change memory that several of these tensors, or one and something that the function has of its own, share: only calls one
    /// by one can.
    fn shares_changed(&self, arguments: &Bound<'_, PyList>) -> PyResult<bool> {
        let arguments = tensors(arguments)?;
        let arguments: Vec<&Tensor> = arguments.iter().collect();
        Ok(match &self.0 {
            Traced::Function(function) => function.shares_changed(&arguments),
            Traced::Step(program) => program.shares_changed(&arguments),
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
        let table = py.detach(|| {
            let timings = match &self.0 {
                Traced::Function(function) => function.measure(&arguments, runs),
                Traced::Step(program) => program.measure(&arguments, runs),
            };
            timings.map(|timings| timings.to_string())
        });
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

/// A graph that can be saved, with its programs.
#[pyclass(name = "ExportedGraph", module = "opforge", frozen)]
pub struct PyExportedGraph(DynamicGraph);

/// Traces a function of a list of tensors, which returns a list of tensors; what it captures of `named` has these names. `sizes` are lengths that are
/// free, with their least and most, and `free` says of which tensor and dimension each is the length, or an expression of it. With such, the function is
/// called several times.
#[pyfunction]
pub fn _export(
    function: &Bound<'_, PyAny>,
    examples: &Bound<'_, PyList>,
    names: Vec<String>,
    named: &Bound<'_, PyList>,
    sizes: Vec<(String, usize, Option<usize>)>,
    free: Vec<(usize, usize, String)>,
) -> PyResult<PyExportedGraph> {
    let (examples, named) = (tensors(examples)?, tensors(named)?);
    let examples: Vec<&Tensor> = examples.iter().collect();
    let names: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(&named).collect();
    let sizes = sizes.iter().map(|(name, min, max)| Size {
        name: name.as_str().into(),
        min: *min,
        max: max.unwrap_or(usize::MAX),
    });
    let free: Vec<_> = free.iter().map(|(tensor, dim, length)| (*tensor, *dim, &length[..])).collect();
    let call = |arguments: &[Tensor]| call_list(function, arguments).map_err(Error::wrap);
    let graph = DynamicGraph::trace_named(&examples, &sizes.collect::<Vec<Size>>(), &free, &names, call);
    graph.map(PyExportedGraph).or_raise(function.py())
}

/// The graph that was saved in a directory.
#[pyfunction]
pub fn _load_graph(py: Python<'_>, directory: PathBuf) -> PyResult<PyExportedGraph> {
    DynamicGraph::load(directory).map(PyExportedGraph).or_raise(py)
}

#[pymethods]
impl PyExportedGraph {
    /// Writes the graph, its weights and further texts to a directory.
    fn save(&self, py: Python<'_>, directory: PathBuf, texts: Vec<(String, String)>) -> PyResult<()> {
        let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (&name[..], &text[..])).collect();
        self.0.save_with(directory, &texts).or_raise(py)
    }

    /// What the graph captured, by name.
    #[getter]
    fn weights(&self) -> HashMap<String, PyTensor> {
        self.0.weights().iter().map(|(name, weight)| (name.clone(), PyTensor::from(weight.clone()))).collect()
    }

    /// How many arguments and results there are.
    #[getter]
    fn counts(&self) -> (usize, usize) {
        (self.0.arguments(), self.0.results())
    }

    /// The lengths that are free: names with the least and the most.
    #[getter]
    fn sizes(&self) -> Vec<(String, usize, Option<usize>)> {
        let most = |size: &Size| Some(size.max).filter(|&max| max < usize::MAX);
        self.0.sizes().iter().map(|size| (size.name.to_string(), size.min, most(size))).collect()
    }

    /// The results.
    fn __call__<'py>(&self, py: Python<'py>, arguments: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
        let arguments = tensors(arguments)?;
        let results = self.0.run(&arguments.iter().collect::<Vec<_>>()).or_raise(py)?;
        PyList::new(py, results.into_iter().map(PyTensor::from))
    }

    /// The calls, a line each.
    fn __str__(&self) -> String {
        self.0.to_string()
    }
}
