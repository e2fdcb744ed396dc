//! Gradients: how calls are recorded, and what backward passes give.

mod edges;
mod endings;
mod functions;
mod gradients;
mod leaves;
mod views;
