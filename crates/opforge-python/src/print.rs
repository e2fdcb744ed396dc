//! How tensors print.

use opforge::Error;
use opforge::display::{PrinterOptions, print_options, set_print_options};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// The options as they are.
pub fn current() -> PrinterOptions {
    print_options().lock().unwrap_or_else(|e| e.into_inner()).clone()
}

/// The options that a profile's name stands for.
fn profile(name: &str) -> Option<PrinterOptions> {
    let default = PrinterOptions::default();
    Some(match name {
        "default" => default,
        "short" => PrinterOptions { precision: 2, edge_items: 2, ..default },
        "full" => PrinterOptions { threshold: usize::MAX, ..default },
        _ => return None,
    })
}

/// Sets how tensors print: digits, the number of elements from which on they are cut, how many are then shown at each end, columns of a line,
/// and whether in scientific notation (None: as the numbers ask for). A profile (`default`, `short`, `full`) comes before the other options.
#[pyfunction]
#[pyo3(signature = (precision = None, threshold = None, edgeitems = None, linewidth = None, profile = None, sci_mode = None))]
pub fn set_printoptions(
    py: Python<'_>,
    precision: Option<usize>,
    threshold: Option<f64>,
    edgeitems: Option<usize>,
    linewidth: Option<usize>,
    profile: Option<&str>,
    sci_mode: Option<bool>,
) -> PyResult<()> {
    let start = match profile {
        None => current(),
        Some(name) => self::profile(name).ok_or_else(|| {
            raise(py, &Error::value("set_printoptions", "profile", name, "'default', 'short' or 'full'"))
        })?,
    };
    set_print_options(PrinterOptions {
        precision: precision.unwrap_or(start.precision),
        // Infinity, which asks for every element, saturates.
        threshold: threshold.map_or(start.threshold, |threshold| threshold as usize),
        edge_items: edgeitems.unwrap_or(start.edge_items),
        line_width: linewidth.unwrap_or(start.line_width),
        sci_mode,
    });
    Ok(())
}

/// The options of [`set_printoptions`] as they are.
#[pyfunction]
pub fn get_printoptions(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let PrinterOptions { precision, threshold, edge_items, line_width, sci_mode } = current();
    let options = PyDict::new(py);
    options.set_item("precision", precision)?;
    options.set_item("threshold", threshold)?;
    options.set_item("edgeitems", edge_items)?;
    options.set_item("linewidth", line_width)?;
    options.set_item("sci_mode", sci_mode)?;
    Ok(options)
}
