//! Graphs on a CUDA device.

mod host_driver;

use opforge::{Device, Result};

fn gpu() -> Option<Device> {
    host_driver::install();
    Some(opforge_cuda::device(0).expect("a device that opens"))
}

#[path = "../../opforge-gpu/tests/device/graphs.rs"]
#[macro_use]
mod graphs;

tests_of_graphs!(gpu());

#[test]
fn functions_of_rows_are_one_kernel() -> Result<()> {
    let all = std::env::var("OPFORGE_CUDA_SAMPLES").is_ok_and(|text| text == "all");
    gpu().map_or(Ok(()), |gpu| graphs::functions_of_rows_are_one_kernel(&gpu, all))
}
