//! The declared functions as plain data: what stubs, the reference and tests are made of.

use opforge::declaration::{Definition, Function};
use opforge::registry::{functions, operators};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::signature::{Parameter, Signature, annotation, python_default};
use super::{doc, gains_inplace};

/// A Rust return type as a Python annotation.
fn returned(rust: &str) -> String {
    let rust: String = rust.chars().filter(|c| !c.is_whitespace()).collect();
    let inner = |open: &str, close: char| rust.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    if let Some(element) = inner("Vec<", '>') {
        return format!("tuple[{}, ...]", returned(element));
    }
    if let Some(element) = inner("Option<", '>') {
        return format!("{} | None", returned(element));
    }
    match inner("(", ')') {
        Some("") => "None".into(),
        Some(parts) => format!("tuple[{}]", parts.split(',').map(returned).collect::<Vec<_>>().join(", ")),
        None => match rust.as_str() {
            "i64" | "usize" => "int".into(),
            "f64" => "float".into(),
            "DType" => "dtype".into(),
            "Device" => "device".into(),
            "String" => "str".into(),
            "Scalar" => "Number".into(),
            "Value" => "Any".into(),
            other => other.to_owned(),
        },
    }
}

fn parameter<'py>(py: Python<'py>, param: &Parameter, keyword_only: bool) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", param.name)?;
    dict.set_item("type", annotation(param.ty))?;
    dict.set_item("default", param.default.as_ref().map(python_default))?;
    dict.set_item("keyword_only", keyword_only)?;
    Ok(dict)
}

fn entry<'py>(
    py: Python<'py>,
    function: &'static Function,
    operator: Option<&Definition>,
) -> PyResult<Bound<'py, PyDict>> {
    let signature = Signature::new(py, function)?;
    let faces = function.faces();
    let shown = [
        ("torch", faces.torch),
        ("method", faces.method),
        ("in_place", faces.in_place),
        ("nn", faces.nn),
        ("inplace", faces.nn && gains_inplace(function)),
        ("fft", faces.fft),
        ("linalg", faces.linalg),
        ("special", faces.special),
        ("hidden", faces.hidden),
    ];
    let params = signature.params.iter().enumerate().map(|(i, p)| parameter(py, p, i >= signature.positional));
    let dict = PyDict::new(py);
    dict.set_item("name", function.name)?;
    dict.set_item("python_name", function.python_name())?;
    dict.set_item("family", function.family())?;
    dict.set_item("faces", PyList::new(py, shown.iter().filter(|(_, is)| *is).map(|(face, _)| *face))?)?;
    dict.set_item("parameters", PyList::new(py, params.collect::<PyResult<Vec<_>>>()?)?)?;
    dict.set_item("returns", returned(function.returns))?;
    dict.set_item("results", faces.results.to_vec())?;
    dict.set_item("in_place", faces.in_place)?;
    dict.set_item("view", function.view)?;
    dict.set_item("out", doc::takes_out(function))?;
    dict.set_item("doc", doc::for_python(function.doc))?;
    dict.set_item("operator", operator.is_some())?;
    let dtypes = operator.map(|definition| definition.dtypes.iter().map(|d| d.long_name()).collect::<Vec<_>>());
    dict.set_item("dtypes", dtypes)?;
    dict.set_item("differentiable", operator.map(|definition| definition.differentiable))?;
    Ok(dict)
}

/// Every declared function as a dict, in the order in which overloads are tried.
///
/// Functions that are operators (not compositions) also tell the dtypes that their kernels take and whether they have a gradient.
#[pyfunction]
pub fn catalogue(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let operators = operators();
    let operator = |function: &Function| operators.iter().copied().find(|d| std::ptr::eq(d.function, function));
    let entries = functions().into_iter().map(|function| entry(py, function, operator(function)));
    PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)
}

/// How many results were copied since their functions shared memory without declaring it: none.
#[pyfunction]
pub fn _shared_results() -> u64 {
    opforge::declaration::shared_results()
}
