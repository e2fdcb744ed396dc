//! Custom operators: the class that `opforge.custom_op` and MindSpore's `Custom` are made of.

mod attribute;
mod call;
mod check;
mod declare;
mod load;
mod rules;

use opforge_custom::{CustomOp, Param, ParamKind, Schema};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cell::Cell;
use crate::error::OrRaise;

pub use check::{bench_operator, check_operator};
pub use load::{include_dir, inline_source};

/// An operator that a user brought: from a library, from a source file, or a function of Python's.
#[pyclass(name = "CustomOp", module = "opforge", frozen, weakref, subclass)]
pub struct PyCustomOp {
    op: Cell<CustomOp>,
    /// Attributes that a call gives by position, behind the tensors, where there is no schema.
    positional: Vec<String>,
    /// Whether results come as a tuple even if there is one.
    several: rules::Several,
    /// Whether calls look for changes of the file.
    reload: bool,
}

#[pymethods]
impl PyCustomOp {
    /// See [`declare::declare`].
    #[new]
    #[pyo3(signature = (func, **options))]
    fn new(func: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        declare::declare(func, options)
    }

    /// Declares more, or otherwise; see [`declare::declare`].
    #[pyo3(signature = (**options))]
    fn _declare(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        self.op.set(py, declare::redeclare(py, self.op.get(py), &self.several, options)?);
        Ok(())
    }

    /// Loads the operator again if the files that it comes from have changed; whether they have.
    fn reload(&self, py: Python<'_>) -> PyResult<bool> {
        let op = self.op.get(py);
        let is_stale = op.is_stale();
        if is_stale {
            self.op.set(py, op.reload().or_raise(py)?);
        }
        Ok(is_stale)
    }

    /// The name in errors and graphs.
    #[getter]
    fn name(&self, py: Python<'_>) -> &'static str {
        self.op.get(py).name()
    }

    /// The declaration, if there is one.
    #[getter]
    fn schema(&self, py: Python<'_>) -> Option<String> {
        self.op.get(py).schema().map(ToString::to_string)
    }

    /// The attributes that were declared with values.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        attribute::dict(py, self.op.get(py).attributes().iter().map(|(name, value)| (name.as_str(), value)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("{:?}", self.op.get(py))
    }
}

/// Of each parameter that a schema declares: its name, whether it is a tensor, and whether it is given by name.
#[pyfunction]
pub fn schema_parameters(py: Python<'_>, schema: &str) -> PyResult<Vec<(String, bool, bool)>> {
    let schema: Schema = schema.parse().or_raise(py)?;
    let is_tensor = |param: &Param| matches!(param.kind, ParamKind::Tensor { .. });
    Ok(schema.params.into_iter().map(|param| (param.name.clone(), is_tensor(&param), param.keyword_only)).collect())
}
