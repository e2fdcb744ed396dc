//! The Python module: the driver's table in a capsule.

use std::ffi::c_void;
use std::ptr::NonNull;

use opforge_wgsl::driver::CAPSULE;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A driver of GPUs by wgpu (Vulkan, Metal, DX12), which opforge loads where this module is installed: tensors may then be made on the device "wgpu".
#[pymodule(name = "opforge_wgpu")]
fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let table = NonNull::from(&crate::DRIVER).cast::<c_void>();
    // SAFETY: the table is static, so that its address holds as long as the capsule.
    let capsule = unsafe { PyCapsule::new_with_pointer(module.py(), table, CAPSULE) }?;
    module.add("driver", capsule)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
