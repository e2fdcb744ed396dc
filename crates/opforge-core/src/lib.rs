//! The values that every other crate of opforge speaks: [`DType`], [`Scalar`], [`Shape`], [`Layout`], [`Meta`] and [`Error`].
//!
//! Nothing here owns tensor memory or computes; all arithmetic on sizes is checked.
#![forbid(unsafe_code)]

mod blocks;
mod dim;
mod dtype;
mod element;
mod error;
mod layout;
mod meta;
mod promote;
mod ranks;
mod scalar;
mod shape;
pub mod term;
mod view;

pub use blocks::{StridedBlocks, StridedIndex};
pub use dim::{D, Dim, Dims, normalize_dim};
pub use dtype::{DType, Kind};
pub use element::{Element, FloatDType, IntDType, WithDType};
pub use error::{Context, CustomFault, Error, ErrorKind, Report, Result};
pub use half::{bf16, f16};
pub use layout::{Layout, Strides};
pub use meta::Meta;
pub use num_complex::Complex;
pub use promote::{promote, result_type};
pub use scalar::Scalar;
pub use shape::{MAX_RANK, Shape, ShapeWithOneHole};
