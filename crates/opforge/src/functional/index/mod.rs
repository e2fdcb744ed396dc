//! Elements chosen, found and written.

mod along;
mod assign;
mod fill;
mod membership;
mod select;
mod selection;
mod sorted;

pub(crate) use along::along_dimension;
pub(crate) use selection::Selection;

subject! { assign, fill, membership, select, sorted }
