//! Operators on a GPU by wgpu.

use opforge::{Device, Result};

/// The first GPU; none, with a word, where there is no driver.
fn gpu() -> Option<Device> {
    match opforge_wgpu::available().first() {
        Some(name) => {
            eprintln!("on {name}");
            // What there is no kernel for is told.
            opforge_wgpu::set_fallback(false);
            Some(opforge_wgpu::device(0).expect("a GPU that opens"))
        }
        None => {
            eprintln!("skipped: no driver of a GPU was found (Debian's mesa-vulkan-drivers has one that needs no GPU)");
            None
        }
    }
}

/// All samples.
const EVERY: usize = 1;
const LEAST: usize = 700;

#[path = "../../opforge-gpu/tests/device/mod.rs"]
#[macro_use]
mod device;

tests_of_operators!(gpu());

#[test]
fn operators_and_gradients_give_on_a_gpu_what_they_give_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let same = device::operators_and_gradients(&gpu, EVERY);
    assert!(std::env::var("OPFORGE_OPERATOR").is_ok() || same > LEAST, "only {same} samples");
}

#[test]
fn groups_share_what_is_long() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| device::groups_share_what_is_long(&gpu, true))
}
