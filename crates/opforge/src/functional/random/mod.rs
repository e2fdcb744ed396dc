//! Random tensors.

mod in_place;
mod samples;

pub use in_place::*;
pub use samples::*;

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] = &[in_place::FUNCTIONS, samples::FUNCTIONS];
