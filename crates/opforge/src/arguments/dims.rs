//! Sizes, dimensions and positions as Python counts them.

use opforge_core::{Kind, Scalar, normalize_dim};

use crate::{DType, Error, Result, Shape, Tensor};

/// A size as Python gives it, as a shape.
pub fn size_to_shape(op: &'static str, size: &[i64]) -> Result<Shape> {
    let length = |n: &i64| {
        usize::try_from(*n).map_err(|_| Error::shape(op, "size", format!("{size:?}"), "lengths of 0 or more"))
    };
    size.iter().map(length).collect()
}

/// The tensor as a leaf that collects gradients, if asked for.
pub(crate) fn leaf(tensor: Tensor, requires_grad: bool) -> Result<Tensor> {
    if requires_grad {
        tensor.set_requires_grad(true)?;
    }
    Ok(tensor)
}

/// The error of a function that needs at least one dimension.
pub(crate) fn no_dims(op: &'static str) -> Error {
    Error::shape(op, "input", "a tensor without dimensions", "rank at least 1")
}

/// The dtype that a sum or product of a dtype's elements has: i64 for integers and truth values.
pub(crate) fn accumulation_dtype(dtype: DType) -> DType {
    if dtype.kind() < Kind::Float { DType::I64 } else { dtype }
}

/// A dimension as Python counts it, of a tensor that has some.
pub(crate) fn existing_dim(op: &'static str, input: &Tensor, dim: i64) -> Result<usize> {
    if input.rank() == 0 { Err(no_dims(op)) } else { normalize_dim(dim, input.rank(), op) }
}

/// `f` of a tensor that has a dimension: a scalar counts as one element, and its result loses the dimension again.
#[track_caller]
pub(crate) fn with_dimension(input: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if input.rank() > 0 { f(input) } else { f(&input.reshape(1)?)?.reshape(()) }
}

/// The result of a function that is no view: a copy where it shares memory with its input after all.
#[track_caller]
pub(crate) fn apart(result: Tensor, input: &Tensor) -> Result<Tensor> {
    if result.shares_storage(input) { result.copy() } else { Ok(result) }
}

/// A position along a dimension as Python counts it.
pub(crate) fn position(op: &'static str, len: usize, index: i64) -> Result<usize> {
    let from_start = if index < 0 { index.saturating_add(len as i64) } else { index };
    let place = usize::try_from(from_start).ok().filter(|&p| p < len);
    place.ok_or_else(|| Error::index(op, "index", index, format!("-{len} to {}", len as i64 - 1)))
}

/// The number that is below and the one that is above all others of a real dtype.
pub(crate) fn limits(dtype: DType) -> (Scalar, Scalar) {
    let bits = 8 * dtype.size_in_bytes() as u32;
    match dtype.kind() {
        Kind::Bool => (Scalar::Bool(false), Scalar::Bool(true)),
        Kind::Int if dtype.is_signed() => (Scalar::Int(i64::MIN >> (64 - bits)), Scalar::Int(i64::MAX >> (64 - bits))),
        Kind::Int => (Scalar::Int(0), Scalar::UInt(u64::MAX >> (64 - bits))),
        _ => (Scalar::Float(f64::NEG_INFINITY), Scalar::Float(f64::INFINITY)),
    }
}
