//! The checker and the bench, from Python.

use std::sync::Arc;

use opforge::DType;
use opforge_custom::bench::{self, bench};
use opforge_custom::check::{self, Report, check};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::PyCustomOp;
use super::declare::{Options, function, sequence};
use super::rules::dtype_of;
use crate::error::OrRaise;

/// Looks for defects in an operator. Options are the fields of [`check::Options`]; `reference` is a function `(tensors, attributes) -> tensors`.
///
/// Gives a dict: `text`, the printed report; `findings`, tuples of probe, case, inputs and message; `refused`, tuples of case, inputs and
/// message; `skipped`, tuples of probe and reason.
#[pyfunction]
#[pyo3(signature = (op, **options))]
pub fn check_operator<'py>(
    op: &Bound<'py, PyCustomOp>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = op.py();
    let options = Options::new("check", options)?;
    let wanted = check_options(&options)?;
    options.finish()?;
    let op = op.get().op.get(py);
    dict(py, &py.detach(|| check(&op, &wanted)).or_raise(py)?)
}

fn check_options(options: &Options<'_>) -> PyResult<check::Options> {
    let mut wanted = check::Options::default();
    options.set("shapes", &mut wanted.shapes)?;
    for combination in sequence(options.take("dtypes")?)? {
        wanted.dtypes.push(dtypes(&combination)?);
    }
    options.set("ranks", &mut wanted.ranks)?;
    options.set("case", &mut wanted.case)?;
    options.set("seed", &mut wanted.seed)?;
    if let Some(range) = options.take("range")? {
        let (start, end) = range.extract()?;
        wanted.range = start..end;
    }
    wanted.timeout = options.seconds("timeout")?.unwrap_or(wanted.timeout);
    if let Some(reference) = options.take("reference")? {
        wanted.reference = Some(Arc::new(function(reference.unbind())));
    }
    options.set("tolerance", &mut wanted.tolerance)?;
    wanted.huge = options.flag("huge")?;
    wanted.sanitize = options.flag("sanitize")?;
    options.set("command", &mut wanted.command)?;
    Ok(wanted)
}

fn dict<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let findings = report
        .findings
        .iter()
        .map(|finding| (finding.probe.name(), finding.case.number, finding.case.to_string(), finding.message.as_str()));
    let refused = report.refused.iter().map(|(case, why)| (case.number, case.to_string(), why.as_str()));
    let skipped = report.skipped.iter().map(|(probe, why)| (probe.name(), why.as_str()));
    let dict = PyDict::new(py);
    dict.set_item("text", report.to_string())?;
    dict.set_item("findings", PyList::new(py, findings.collect::<Vec<_>>())?)?;
    dict.set_item("refused", PyList::new(py, refused.collect::<Vec<_>>())?)?;
    dict.set_item("skipped", PyList::new(py, skipped.collect::<Vec<_>>())?)?;
    Ok(dict)
}

/// Times an operator. Options are the fields of [`bench::Options`]. Gives the table, and for each line inputs, bytes, and the seconds of a call and
/// of a copy.
#[pyfunction]
#[pyo3(signature = (op, **options))]
#[allow(clippy::type_complexity)]
pub fn bench_operator(
    op: &Bound<'_, PyCustomOp>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(String, Vec<(String, usize, f64, f64)>)> {
    let py = op.py();
    let options = Options::new("bench", options)?;
    let mut wanted = bench::Options::default();
    options.set("shapes", &mut wanted.shapes)?;
    if let Some(given) = options.take("dtypes")? {
        wanted.dtypes = dtypes(&given)?;
    }
    options.set("ranks", &mut wanted.ranks)?;
    wanted.duration = options.seconds("duration")?.unwrap_or(wanted.duration);
    options.finish()?;
    let op = op.get().op.get(py);
    let found = py.detach(|| bench(&op, &wanted)).or_raise(py)?;
    let lines = found.lines.iter().map(|line| (line.case.to_string(), line.bytes, line.call, line.copy));
    Ok((found.to_string(), lines.collect()))
}

fn dtypes(list: &Bound<'_, PyAny>) -> PyResult<Vec<DType>> {
    list.try_iter()?.map(|item| dtype_of("dtypes", &item?)).collect()
}
