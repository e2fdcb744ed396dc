//! Custom operators: the class that `opforge.custom_op` and MindSpore's `Custom` are made of.

mod attribute;
mod call;
mod check;
mod declare;
mod load;
mod rules;

use opforge_custom::{CustomOp, Param, ParamKind, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::cell::Cell;
use crate::error::OrRaise;

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

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        self.call(py, args, kwargs)
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
        let dict = PyDict::new(py);
        for (name, value) in self.op.get(py).attributes() {
            dict.set_item(name, attribute::object(py, value)?)?;
        }
        Ok(dict)
    }

    /// The outputs' shapes and dtypes for inputs of these; None stands for a length, and a shape of None for a shape, that is not known.
    #[pyo3(signature = (*inputs, **attributes))]
    fn infer<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        attributes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<(Py<PyAny>, Py<PyAny>)>> {
        self.infer_outputs(py, inputs, attributes)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("{:?}", self.op.get(py))
    }
}

/// Of each parameter that a schema declares: its name, whether it is a tensor, and whether it is given by name.
#[pyfunction]
fn schema_parameters(py: Python<'_>, schema: &str) -> PyResult<Vec<(String, bool, bool)>> {
    let schema: Schema = schema.parse().or_raise(py)?;
    let is_tensor = |param: &Param| matches!(param.kind, ParamKind::Tensor { .. });
    Ok(schema.params.into_iter().map(|param| (param.name.clone(), is_tensor(&param), param.keyword_only)).collect())
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(load::include_dir, module)?)?;
    module.add_function(wrap_pyfunction!(load::inline_source, module)?)?;
    module.add_function(wrap_pyfunction!(check::check_operator, module)?)?;
    module.add_function(wrap_pyfunction!(check::bench_operator, module)?)?;
    module.add_function(wrap_pyfunction!(schema_parameters, module)?)?;
    module.add_class::<PyCustomOp>()
}
