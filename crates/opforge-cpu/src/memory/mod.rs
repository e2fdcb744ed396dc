//! Memory of kernels while they run.

pub mod prefetch;
pub mod scratch;
