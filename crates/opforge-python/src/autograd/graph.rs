//! `grad_fn`: the recorded operators behind a tensor, as objects of Python's.

use std::hash::{DefaultHasher, Hash, Hasher};

use opforge::autograd::GradFn;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::tensor::leaves;

/// A recorded operator. Its class is one that is named as it is: `AddBackward0`.
#[pyclass(name = "GradFn", module = "opforge", frozen, subclass, weakref)]
pub struct PyGradFn(GradFn);

impl PyGradFn {
    /// The object that stands for a recorded call: the same one as long as somebody holds it.
    pub fn wrap(py: Python<'_>, call: GradFn) -> PyResult<Py<PyAny>> {
        static ALIVE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let make = || py.import("weakref")?.getattr("WeakValueDictionary")?.call0().map(Bound::unbind);
        let (alive, key) = (ALIVE.get_or_try_init(py, make)?.bind(py), call.key());
        let found = alive.call_method1("get", (key,))?;
        if !found.is_none() {
            return Ok(found.unbind());
        }
        let made = class_of(py, &call.name())?.call1((PyGradFn(call),))?;
        alive.set_item(key, &made)?;
        Ok(made.unbind())
    }
}

/// The class of the calls of this name.
fn class_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let classes = CLASSES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    if let Some(class) = classes.get_item(name)? {
        return Ok(class);
    }
    let body = PyDict::new(py);
    body.set_item("__module__", "opforge")?;
    body.set_item("__slots__", PyTuple::empty(py))?;
    let class = py.get_type::<PyType>().call1((name, (py.get_type::<PyGradFn>(),), body))?;
    classes.set_item(name, &class)?;
    Ok(class)
}

#[pymethods]
impl PyGradFn {
    /// Another handle of the same call.
    #[new]
    fn new(call: &Bound<'_, PyGradFn>) -> Self {
        PyGradFn(call.get().0.clone())
    }

    /// The operator's name.
    fn name(&self) -> String {
        self.0.name()
    }

    /// The operators whose results this one read, and which of their outputs.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let wrap =
            |(call, output): (Option<GradFn>, usize)| Ok((call.map(|call| Self::wrap(py, call)).transpose()?, output));
        PyTuple::new(py, self.0.next_functions().into_iter().map(wrap).collect::<PyResult<Vec<_>>>()?)
    }

    /// The leaf, where gradients end; an AttributeError of what is none.
    #[getter]
    fn variable(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.0.variable() {
            Some(leaf) => leaves::object(py, leaf),
            None => Err(PyAttributeError::new_err(format!("'{}' object has no attribute 'variable'", self.0.name()))),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyGradFn>().is_ok_and(|other| other.get().0.same(&self.0))
    }

    fn __hash__(&self) -> usize {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish() as usize
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.0.name())
    }
}
