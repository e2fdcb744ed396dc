//! Memory of kernels while they run, and truth values as they lie in it.

pub mod prefetch;
pub mod scratch;
mod truth;

pub(crate) use truth::Truth;
