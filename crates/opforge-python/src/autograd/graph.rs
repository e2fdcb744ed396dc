use std::hash::{DefaultHasher, Hash, Hasher};

use opforge::autograd::GradFn;
use pyo3::prelude::*;

use crate::tensor::PyTensor;

/// A recorded operator.
#[pyclass(name = "GradFn", module = "opforge", frozen)]
pub struct PyGradFn(pub GradFn);

#[pymethods]
impl PyGradFn {
    /// The operator's name.
    fn name(&self) -> String {
        self.0.name()
    }

    /// The operators whose results this one read, and which of their outputs.
    #[getter]
    fn next_functions(&self) -> Vec<(Option<PyGradFn>, usize)> {
        self.0.next_functions().into_iter().map(|(f, i)| (f.map(PyGradFn), i)).collect()
    }

    /// The leaf, where gradients end.
    #[getter]
    fn variable(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.variable().map(|leaf| PyTensor::wrap(py, leaf.clone())).transpose()
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
