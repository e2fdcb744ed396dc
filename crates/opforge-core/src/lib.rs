//! The values that every other crate of opforge speaks: [`DType`], [`Scalar`], [`Shape`], [`Layout`], [`Meta`] and [`Error`].
//!
//! Nothing here owns tensor memory or computes; all arithmetic on sizes is checked.
#![forbid(unsafe_code)]

mod blocks;
mod cpu_storage;
mod dim;
mod dtype;
mod element;
mod error;
mod float8;
mod layout;
mod location;
mod meta;
mod nditer;
mod promote;
mod ranks;
mod relation;
mod scalar;
mod shape;
pub mod term;
mod view;

pub use blocks::{StridedBlocks, StridedIndex};
pub use cpu_storage::{CpuStorage, CpuStorageRef, Hosted};
pub use dim::{D, Dim, Dims, normalize_dim};
pub use dtype::{DType, DTypeParseError, Kind};
pub use element::{Element, FloatDType, IntDType, WithDType};
pub use error::{Context, CustomFault, Error, ErrorKind, MatMulUnexpectedStriding, RefusedShape, Report, Result};
pub use float8::{F8E4M3, F8E5M2};
pub use half::{bf16, f16};
pub use layout::{Layout, Strides};
pub use location::DeviceLocation;
pub use meta::Meta;
pub use nditer::{MAX_DIMS, NdIter};
pub use num_complex::Complex;
pub use promote::{promote, result_type, scalar_type};
pub use ranks::{dims0, dims1, dims2, dims3, dims4, dims5};
pub use relation::LayoutRelation;
pub use scalar::Scalar;
pub use shape::{MAX_RANK, Shape, ShapeWithOneHole};
