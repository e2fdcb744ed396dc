//! How kernels walk over memory, and how they share the work.

pub mod fallible;
pub mod plan;
pub mod planned;
pub mod staged;
pub mod tasks;
pub mod work;
