//! Elements chosen, found and written.

mod along;
mod assign;
mod fill;
mod membership;
mod select;
mod selection;
mod sorted;

pub(crate) use along::along_dimension;
pub use assign::*;
pub use fill::*;
pub use membership::*;
pub use select::*;
pub(crate) use selection::Selection;
pub use sorted::*;

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] =
    &[assign::FUNCTIONS, fill::FUNCTIONS, membership::FUNCTIONS, select::FUNCTIONS, sorted::FUNCTIONS];
