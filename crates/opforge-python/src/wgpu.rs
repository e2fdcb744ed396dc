//! GPUs by wgpu, where the module `opforge_wgpu` is installed, which has the driver. `opforge.wgpu` is made of these.

use std::sync::Once;

use opforge_wgsl::driver::Driver;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::OrRaise;

/// The driver's table, as the module gives it.
const DRIVER: &std::ffi::CStr = c"opforge_wgpu.driver";

/// What the GPUs are called. The driver's module is looked for at the first call.
pub fn names() -> Vec<String> {
    static SEARCHED: Once = Once::new();
    SEARCHED.call_once(|| {
        // Without the module, or with one that is not of this version, there are no GPUs.
        let _ = Python::attach(|py| -> PyResult<()> {
            let table = PyCapsule::import_pointer(py, DRIVER)?.cast::<Driver>();
            // SAFETY: a capsule of this name holds the address of a driver's table, which stays where it is as long as the program.
            unsafe { opforge_wgsl::bring(table.as_ref()) }.or_raise(py)
        });
    });
    opforge_wgsl::available()
}

/// What the GPUs are called, by number.
#[pyfunction]
pub fn _wgpu_names() -> Vec<String> {
    names()
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
