//! Tensors seen in another way, cut, joined and arranged.

mod arrange;
mod diagonals;
mod join;
mod padding;
mod split;
mod views;

pub use arrange::*;
pub use diagonals::*;
pub use join::*;
pub use padding::*;
pub use split::*;
pub use views::*;

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] = &[
    arrange::FUNCTIONS,
    diagonals::FUNCTIONS,
    join::FUNCTIONS,
    padding::FUNCTIONS,
    split::FUNCTIONS,
    views::FUNCTIONS,
];
