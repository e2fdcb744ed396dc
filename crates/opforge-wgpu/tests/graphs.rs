//! Graphs on a GPU by wgpu.

use opforge::{Device, Result};

/// The first GPU; none where there is no driver.
fn gpu() -> Option<Device> {
    opforge_wgpu::available().first().map(|_| opforge_wgpu::device(0).expect("a GPU that opens"))
}

#[path = "../../opforge-gpu/tests/device/graphs.rs"]
mod graphs;

#[test]
fn functions_of_rows_are_one_kernel() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| graphs::functions_of_rows_are_one_kernel(&gpu, true))
}

#[test]
fn rows_of_what_was_changed_in_place_are_of_the_new_elements() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| graphs::rows_of_what_was_changed_in_place_are_of_the_new_elements(&gpu))
}

#[test]
fn functions_of_single_elements_are_one_kernel() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| graphs::functions_of_single_elements_are_one_kernel(&gpu))
}

#[test]
fn changes_in_place_and_views_keep_their_order() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| graphs::changes_in_place_and_views_keep_their_order(&gpu))
}

#[test]
fn gradients_are_programs_too() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| graphs::gradients_are_programs_too(&gpu))
}

#[test]
fn a_graph_is_of_one_device() -> Result<()> {
    gpu().map_or(Ok(()), |gpu| graphs::a_graph_is_of_one_device(&gpu))
}
