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
mod device;

#[test]
fn operators_and_gradients_give_on_a_gpu_what_they_give_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let same = device::operators_and_gradients(&gpu, if all() { 1 } else { 60 });
    assert!(std::env::var("OPFORGE_OPERATOR").is_ok() || same > 100, "only {same} samples");
}

#[test]
fn an_operator_from_elsewhere_runs_without_another_line() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::an_operator_from_elsewhere_runs_without_another_line(&gpu))
}

#[test]
fn tensors_are_made_moved_read_and_freed_there() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::tensors_are_made_moved_read_and_freed_there(&gpu))
}

#[test]
fn integers_are_widened_by_their_own_sign() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::integers_are_widened_by_their_own_sign(&gpu))
}

#[test]
fn long_tensors_take_many_groups() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::long_tensors_take_many_groups(&gpu))
}

#[test]
fn groups_share_what_is_long() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::groups_share_what_is_long(&gpu, all()))
}

#[test]
fn what_is_found_in_elements_and_what_there_is_too_little_of_are_errors() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::what_is_found_in_elements_and_what_there_is_too_little_of_are_errors(&gpu))
}

#[test]
fn functions_are_as_exact_over_all_magnitudes() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::functions_are_as_exact_over_all_magnitudes(&gpu))
}
