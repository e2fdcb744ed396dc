//! The functions that users call: they check, promote, broadcast and compose, then dispatch operators.
//!
//! One layer serves both front ends. Where Rust (candle) and Python (PyTorch) differ, the difference is an argument: [`Rules`].

mod aliases;
mod arguments;
mod create;
mod index;
mod linalg;
mod nn;
mod pointwise;
mod random;
mod reduce;
mod shape;

pub use aliases::*;
pub use arguments::*;
pub use create::*;
pub use index::*;
pub use linalg::*;
pub use nn::*;
pub use pointwise::*;
pub use random::*;
pub use reduce::*;
pub use shape::*;

pub use crate::ops::functions::*;

/// The composed functions' signatures.
pub fn compositions() -> impl Iterator<Item = &'static crate::operator::Function> {
    const FOLDERS: &[&[&[crate::operator::Function]]] = &[
        create::FUNCTIONS,
        index::FUNCTIONS,
        linalg::FUNCTIONS,
        nn::FUNCTIONS,
        pointwise::FUNCTIONS,
        random::FUNCTIONS,
        reduce::FUNCTIONS,
        shape::FUNCTIONS,
        &[aliases::FUNCTIONS],
    ];
    FOLDERS.iter().copied().flatten().copied().flatten()
}
