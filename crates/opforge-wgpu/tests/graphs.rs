//! Graphs on a GPU by wgpu.

use opforge::{Device, Result};

/// The first GPU; none where there is no driver.
fn gpu() -> Option<Device> {
    opforge_wgpu::available().first().map(|_| opforge_wgpu::device(0).expect("a GPU that opens"))
}

#[path = "../../opforge-gpu/tests/device/graphs.rs"]
#[macro_use]
mod graphs;

tests_of_graphs!(gpu());

#[test]
fn functions_of_rows_are_one_kernel() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| graphs::functions_of_rows_are_one_kernel(&gpu, true))
}
