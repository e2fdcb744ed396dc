//! GPUs by wgpu, where the module `opforge_wgpu` is installed, which has the driver. `opforge.wgpu` is made of these.

use std::ffi::CString;
use std::sync::Once;

use opforge_wgsl::driver::{CAPSULE, Driver};
use pyo3::exceptions::{PyImportError, PyRuntimeWarning};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::OrRaise;

/// Takes the driver's table from its module.
fn bring(py: Python<'_>) -> PyResult<()> {
    let table = PyCapsule::import_pointer(py, CAPSULE)?.cast::<Driver>();
    // SAFETY: a capsule of this name holds the address of a driver's table, which stays where it is as long as the program.
    unsafe { opforge_wgsl::bring(table.as_ref()) }.or_raise(py)
}

/// Without the module there are no GPUs; nor with one that has no driver of this version, which is told.
fn search(py: Python<'_>) -> PyResult<()> {
    let failed = match bring(py) {
        Err(error) if !error.is_instance_of::<PyImportError>(py) => error,
        _ => return Ok(()),
    };
    let text = CString::new(format!("opforge_wgpu: {failed}"))?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
}

/// What the GPUs are called. The driver's module is looked for at the first call.
pub fn names() -> &'static [String] {
    static SEARCHED: Once = Once::new();
    SEARCHED.call_once(|| {
        // A warning that is to be an error cannot be raised from here: it is shown.
        Python::attach(|py| search(py).unwrap_or_else(|error| error.print(py)));
    });
    opforge_wgsl::available()
}

/// What the GPUs are called, by number.
#[pyfunction]
pub fn _wgpu_names() -> Vec<String> {
    names().to_vec()
}

/// Whether a GPU was opened.
#[pyfunction]
pub fn _wgpu_is_open() -> bool {
    opforge_wgsl::is_open()
}

/// Waits until everything that was called for on a GPU has run.
#[pyfunction]
pub fn _wgpu_synchronize(py: Python<'_>, index: usize) -> PyResult<()> {
    opforge_runtime::vm::hand_over().or_raise(py)?;
    py.detach(|| opforge_wgsl::synchronize(index)).or_raise(py)
}
