//! Graphs on a CUDA device.

mod host_driver;

use opforge::{Device, Result};

fn gpu() -> Result<Device> {
    host_driver::install();
    opforge_cuda::device(0)
}

#[path = "../../opforge-gpu/tests/device/graphs.rs"]
mod graphs;

#[test]
fn functions_of_rows_are_one_kernel() -> Result<()> {
    let all = std::env::var("OPFORGE_CUDA_SAMPLES").is_ok_and(|text| text == "all");
    graphs::functions_of_rows_are_one_kernel(&gpu()?, all)
}

#[test]
fn rows_of_what_was_changed_in_place_are_of_the_new_elements() -> Result<()> {
    graphs::rows_of_what_was_changed_in_place_are_of_the_new_elements(&gpu()?)
}

#[test]
fn functions_of_single_elements_are_one_kernel() -> Result<()> {
    graphs::functions_of_single_elements_are_one_kernel(&gpu()?)
}

#[test]
fn changes_in_place_and_views_keep_their_order() -> Result<()> {
    graphs::changes_in_place_and_views_keep_their_order(&gpu()?)
}

#[test]
fn gradients_are_programs_too() -> Result<()> {
    graphs::gradients_are_programs_too(&gpu()?)
}

#[test]
fn a_graph_is_of_one_device() -> Result<()> {
    graphs::a_graph_is_of_one_device(&gpu()?)
}
