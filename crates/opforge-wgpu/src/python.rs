//! The Python module: the driver's table in a capsule.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// What the capsule is called; opforge asks for this name.
const NAME: &CStr = c"opforge_wgpu.driver";

/// A driver of GPUs by wgpu (Vulkan, Metal, DX12), which opforge loads where this module is installed: tensors may then be made on the device "wgpu".
#[pymodule(name = "opforge_wgpu")]
fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let table = NonNull::from(&crate::DRIVER).cast::<c_void>();
    // SAFETY: the table is a static one.
    let capsule = unsafe { PyCapsule::new_with_pointer(module.py(), table, NAME) }?;
    module.add("driver", capsule)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
