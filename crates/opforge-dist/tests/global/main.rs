//! Global tensors, by ranks that are threads.

mod boxing;
#[path = "../definition/mod.rs"]
mod definition;
mod planner;
mod programs;
mod table;
mod tensors;
