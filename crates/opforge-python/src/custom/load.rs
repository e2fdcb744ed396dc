//! Operators from files and texts.

use std::ffi::CString;
use std::time::Duration;

use opforge::Error;
use opforge_custom::source::{self, Flavour, Language, Options as SourceOptions, Sanitizer};
use opforge_custom::{CustomOp, Isolation};
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;

use super::declare::Options;
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
    let time = options.take("timeout")?.map(|object| seconds("timeout", &object)).transpose()?;
    let limits =
        Isolation { memory: options.take("memory")?.map(|object| object.extract()).transpose()?, ..time.into() };
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
    if let Some(flags) = options.take("flags")? {
        source.flags = flags.extract()?;
    }
    if let Some(include) = options.take("include")? {
        source.include = include.extract()?;
    }
    if let Some(search) = options.take("search")? {
        source.search = search.extract()?;
    }
    if let Some(cache) = options.take("cache")? {
        source.cache = Some(cache.extract()?);
    }
    if let Some(flavour) = options.take("flavour")? {
        source.flavour =
            one_of("flavour", &flavour, &[("default", Flavour::Default), ("mindspore", Flavour::MindSpore)])?;
    }
    for sanitizer in
        options.take("sanitize")?.map_or(Ok(Vec::new()), |list| list.try_iter()?.collect::<PyResult<_>>())?
    {
        let known = [("address", Sanitizer::Address), ("undefined", Sanitizer::Undefined)];
        source.sanitize.push(one_of("sanitize", &sanitizer, &known)?);
    }
    if let Some(compile) = options.take("compile")? {
        source.compile = compile.is_truthy()?;
    }
    if let Some(timeout) = options.take("compile_timeout")? {
        source.timeout = seconds("compile_timeout", &timeout)?;
    }
    Ok(source)
}

/// A number of seconds.
pub fn seconds(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds = object.extract::<f64>()?;
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

fn one_of<T: Copy>(name: &'static str, object: &Bound<'_, PyAny>, values: &[(&str, T)]) -> PyResult<T> {
    let text: String = object.extract()?;
    let names = || values.iter().map(|(own, _)| *own).collect::<Vec<_>>().join(", ");
    let found = values.iter().find(|(own, _)| *own == text);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| raise(object.py(), &Error::value("custom_op", name, format!("{text:?}"), names())))
}
