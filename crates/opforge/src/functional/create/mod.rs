//! New tensors.

mod constants;
mod like;
mod ranges;

pub use constants::*;
pub use like::*;
pub use ranges::*;

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] =
    &[constants::FUNCTIONS, like::FUNCTIONS, ranges::FUNCTIONS];
