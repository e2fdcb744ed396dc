//! The functions that users call: they check, promote, broadcast and compose, then dispatch operators.
//!
//! One layer serves both front ends. Where Rust (candle) and Python (PyTorch) differ, the difference is an argument: [`Rules`].

/// Shows what the files of a subject declare, and lists their functions' signatures.
macro_rules! subject {
    ($($file:ident),* $(,)?) => {
        $(pub use $file::*;)*
        pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] = &[$($file::FUNCTIONS),*];
    };
}

mod aliases;
mod constant_in;
mod create;
mod fourier;
mod index;
pub(crate) mod linalg;
pub(crate) mod nn;
mod pointwise;
mod random;
mod reduce;
mod shape;

pub use crate::arguments::*;
pub use crate::autograd::sum_to;
pub use crate::family::{binary, binary_float, compare, unary_float};
pub(crate) use crate::family::{common_dtype, converted, dtype_with, fit, floating, pair, promote_all, reduce_dims};
pub use aliases::*;
pub(crate) use constant_in::constant_in;
pub use create::*;
pub use fourier::*;
pub use index::*;
pub use linalg::*;
pub use nn::*;
pub use pointwise::*;
pub use random::*;
pub use reduce::*;
pub use shape::*;

pub use crate::ops::functions::*;

/// The composed functions' signatures.
pub fn compositions() -> impl Iterator<Item = &'static crate::declaration::Function> {
    const FOLDERS: &[&[&[crate::declaration::Function]]] = &[
        create::FUNCTIONS,
        fourier::FUNCTIONS,
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
