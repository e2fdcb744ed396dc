//! Elementwise kernels: a function of one, two or three elements, written once, over tensors of any layout.
//!
//! An operator states its mathematics by implementing one of the function traits ([`UnaryFn`], [`BinaryFn`], ...) for a small type that holds
//! its attributes, and hands it to the constructor of the same name. Every method of an implementation should be `#[inline(always)]`, since it
//! must be compiled inside the loop that enables the instruction set.
//!
//! ```
//! use opforge_core::{DType, Meta};
//! use opforge_cpu::elementwise::{UnaryFn, unary};
//! use opforge_cpu::simd::Float;
//!
//! #[derive(Clone, Copy)]
//! struct LeakyRelu {
//!     slope: f64,
//! }
//! impl UnaryFn for LeakyRelu {
//!     #[inline(always)]
//!     fn float<V: Float>(self, x: V) -> V {
//!         V::select(x.gt(V::splat(0.0)), x, x * V::splat(self.slope))
//!     }
//! }
//!
//! let meta = Meta::contiguous(DType::F32, 3usize);
//! let kernel = unary("leaky_relu", LeakyRelu { slope: 0.5 }, &meta, &meta)?;
//! let (x, mut y) = ([1.0f32, -1.0, -3.0], [0.0f32; 3]);
//! // SAFETY: both arrays have the metas' layout.
//! unsafe { kernel.run(&[x.as_ptr().cast()], &[y.as_mut_ptr().cast()])? };
//! assert_eq!(y, [1.0, -0.5, -1.5]);
//! # Ok::<(), opforge_core::Error>(())
//! ```
//!
//! All tensors of a kernel have the output's dimensions; a broadcast input has strides of 0. The output may be the same tensor as an input
//! (equal address and layout). f16 and bf16 are computed in f32 and rounded once.
//!
//! A function with its types and instruction set chosen is a *step* over a block of rows. Operands that are not stored as the step reads them
//! (half precision, transposed, strided) go through tiles in the L1 cache; short functions read half precision as it is stored.

mod binary;
mod bind;
mod block;
mod cast;
mod choose;
mod compare;
mod complex;
mod float;
mod kernel;
mod nest;
mod scalar;
mod step;
mod ternary;
mod tile;
mod unary;
mod update;

pub use binary::{binary, binary_of_number};
pub use bind::bind;
pub use cast::cast;
pub use choose::{fill, select};
pub use compare::{compare, test};
pub use opforge_tile::{BinaryFn, CompareFn, TernaryFn, TestFn, UnaryFn, UpdateFn};
pub use ternary::ternary;
pub use unary::unary;
pub use update::update;

use opforge_core::{DType, Error, Meta, Result};

/// Refuses tensors whose dtypes are not all `dtype`.
fn check_dtypes(op: &'static str, dtype: DType, others: &[&Meta]) -> Result<()> {
    match others.iter().find(|meta| meta.dtype != dtype) {
        Some(meta) => Err(Error::dtypes(op, dtype, meta.dtype)),
        None => Ok(()),
    }
}

/// Refuses outputs that cannot hold truth values.
fn check_truth(op: &'static str, output: &Meta) -> Result<()> {
    match output.dtype {
        DType::Bool | DType::U8 => Ok(()),
        dtype => Err(Error::dtype(op, "output", dtype, "bool or u8")),
    }
}
