//! What many operators ask of their inputs.

use std::fmt::Display;

use crate::{Error, Meta, Result, Shape, Tensor};

/// Fails with this error unless the condition holds.
pub(crate) fn ensure(holds: bool, error: impl FnOnce() -> Error) -> Result<()> {
    if holds { Ok(()) } else { Err(error()) }
}

/// The error of an argument of this shape.
#[cold]
pub(crate) fn wrong_shape(op: &'static str, argument: &'static str, given: &Shape, accepted: impl Display) -> Error {
    Error::shape(op, argument, format!("{given:?}"), accepted)
}

/// Fails unless both have one dtype.
pub(crate) fn check_dtypes(op: &'static str, a: &Meta, b: &Meta) -> Result<()> {
    ensure(a.dtype == b.dtype, || Error::dtypes(op, a.dtype, b.dtype))
}

/// Fails unless the dtype of `input` is a floating-point one.
pub(crate) fn check_float(op: &'static str, argument: &'static str, input: &Tensor) -> Result<()> {
    ensure(input.dtype().is_float(), || Error::dtype(op, argument, input.dtype(), "a floating-point dtype"))
}

/// Fails unless `input` has the dimension `dim`.
pub(crate) fn check_dim(op: &'static str, input: &Meta, dim: usize) -> Result<()> {
    ensure(dim < input.rank(), || Error::index(op, "dim", dim, format!("a dimension of {:?}", input.shape())))
}
