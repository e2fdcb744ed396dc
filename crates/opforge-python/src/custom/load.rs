//! Operators from files and texts.

use std::ffi::CString;

use opforge::Error;
use opforge_custom::source::{self, Flavour, Language, Options as SourceOptions, Sanitizer};
use opforge_custom::{CustomOp, Isolation};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

use super::declare::{Options, sequence};
use crate::error::{OrRaise, raise};
use crate::front_end;

/// The folder of the headers that kernels include.
#[pyfunction]
pub fn include_dir(py: Python<'_>) -> PyResult<String> {
    Ok(source::include_dir().or_raise(py)?.display().to_string())
}

/// Writes a source text where it may be compiled; gives the file's path. `language` is "c", "c++" or "cuda".
#[pyfunction]
#[pyo3(signature = (name, language, text, cache = None))]
pub fn inline_source(
    py: Python<'_>,
    name: &str,
    language: &str,
    text: &str,
    cache: Option<std::path::PathBuf>,
) -> PyResult<String> {
    let language = match language {
        "c" => Language::C,
        "c++" | "cc" | "cpp" => Language::Cpp,
        "cuda" | "cu" => Language::Cuda,
        other => {
            return Err(raise(py, &Error::value("load_inline", "language", format!("{other:?}"), "c, c++ or cuda")));
        }
    };
    let options = SourceOptions { cache, ..SourceOptions::default() };
    Ok(source::inline(name, language, text, &options).or_raise(py)?.display().to_string())
}

/// The operator at "path:Name", compiled as the options `flags`, `include`, `flavour` ("default", "mindspore"), `cache`, `sanitize` ("address",
/// "undefined"), `compile`, `compile_timeout` (in seconds) and `search` say; `isolate` opens it in a process of its own, whose functions may take
/// `timeout` seconds, and which may allocate `memory` bytes.
pub fn load(func: &Bound<'_, PyAny>, options: &Options<'_>) -> PyResult<CustomOp> {
    let py = func.py();
    let name: String = func.str()?.extract()?;
    let isolate = options.flag("isolate")?;
    let mut limits = Isolation::from(options.seconds("timeout")?);
    options.set("memory", &mut limits.memory)?;
    let options = source_options(options)?;
    let load = || match isolate {
        true => CustomOp::load_isolated_with(&name, &options, &limits),
        false => CustomOp::load_with(&name, &options),
    };
    let op = front_end::called(load).or_raise(py)?;
    if let Some(gaps) = op.isolation_gaps() {
        let text = CString::new(format!("custom operator {name} is isolated, but {gaps}"))?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)?;
    }
    Ok(op)
}

fn source_options(options: &Options<'_>) -> PyResult<SourceOptions> {
    let mut source = SourceOptions::default();
    options.set("flags", &mut source.flags)?;
    options.set("include", &mut source.include)?;
    options.set("search", &mut source.search)?;
    options.set("cache", &mut source.cache)?;
    if let Some(flavour) = options.take("flavour")? {
        let known = [("default", Flavour::Default), ("mindspore", Flavour::MindSpore)];
        source.flavour = one_of("flavour", &flavour, &known)?;
    }
    for sanitizer in sequence(options.take("sanitize")?)? {
        let known = [("address", Sanitizer::Address), ("undefined", Sanitizer::Undefined)];
        source.sanitize.push(one_of("sanitize", &sanitizer, &known)?);
    }
    if let Some(compile) = options.take("compile")? {
        source.compile = compile.is_truthy()?;
    }
    source.timeout = options.seconds("compile_timeout")?.unwrap_or(source.timeout);
    Ok(source)
}

fn one_of<T: Copy>(name: &'static str, object: &Bound<'_, PyAny>, values: &[(&str, T)]) -> PyResult<T> {
    let text: String = object.extract()?;
    let names = || values.iter().map(|(own, _)| *own).collect::<Vec<_>>().join(", ");
    let found = values.iter().find(|(own, _)| *own == text);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| raise(object.py(), &Error::value("custom_op", name, format!("{text:?}"), names())))
}
