//! The kernels' binary interface: what kernels get, what they may do, and what becomes of what goes wrong.

#[path = "../common/mod.rs"]
mod common;

mod arguments;
mod attributes;
mod failures;
mod infer;
mod lifetime;
mod strings;
