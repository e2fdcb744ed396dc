//! Operators on a CUDA device: on a GPU, or, where there is none, on the host by a driver of our own.

mod host_driver;

use opforge::{Device, Result};

/// The first device.
fn gpu() -> Option<Device> {
    host_driver::install();
    // What has no kernel is to be seen.
    opforge_cuda::set_fallback(false);
    Some(opforge_cuda::device(0).expect("a device that opens"))
}

/// Whether everything is to be run, rather than a part.
fn all() -> bool {
    std::env::var("OPFORGE_CUDA_SAMPLES").is_ok_and(|text| text == "all")
}

#[path = "../../opforge-gpu/tests/device/mod.rs"]
#[macro_use]
mod device;

tests_of_operators!(gpu());

#[test]
fn operators_and_gradients_give_on_a_gpu_what_they_give_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let same = device::operators_and_gradients(&gpu, if all() { 1 } else { 60 });
    assert!(std::env::var("OPFORGE_OPERATOR").is_ok() || same > 100, "only {same} samples");
}

#[test]
fn groups_share_what_is_long() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::groups_share_what_is_long(&gpu, all()))
}
