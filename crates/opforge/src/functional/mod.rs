//! The functions that users call: they check, promote, broadcast and compose, then dispatch operators.
//!
//! One layer serves both front ends. Where Rust (candle) and Python (PyTorch) differ, the difference is an argument: [`Rules`].

mod constant_in;
mod device;
mod dtype;
mod fused;
mod indices;
mod operand;
mod pointwise;
mod rules;

pub(crate) use constant_in::constant_in;
pub(crate) use device::device_or_default;
pub use device::{DefaultDevice, set_default_device};
pub(crate) use distance::p_norm;
pub(crate) use dropouts::replaced;
pub use dtype::{default_dtype, set_default_dtype};
pub(crate) use indices::Selection;
pub use operand::{Operand, TensorOrScalar};
pub use pointwise::{binary, binary_float, compare, unary_float};
pub(crate) use pointwise::{binary_scaled, common_dtype, converted, dtype_with, fit, floating};
pub use rules::Rules;

pub use crate::ops::functions::*;

/// Declares the files of functions that are composed of operators, and [`COMPOSITIONS`], the list of what they declare.
macro_rules! compositions {
    ($($file:ident),* $(,)?) => {
        $(pub(crate) mod $file; #[allow(ambiguous_glob_reexports)] pub use $file::*;)*

        /// The composed functions' signatures, a list a file.
        pub static COMPOSITIONS: &[&[crate::operator::Function]] = &[$($file::FUNCTIONS),*];
    };
}

compositions! {
    activations,
    addmm,
    aliases,
    arrange,
    assign,
    attention,
    bags,
    channel_norms,
    chains,
    checks,
    complex,
    conv,
    counts,
    create,
    create_like,
    ctc,
    diagonals,
    differences,
    distance,
    dropouts,
    einsum,
    extrema,
    factors,
    fill,
    gradients,
    grid,
    histograms,
    image_blocks,
    inverse,
    join,
    loss,
    loss_margin,
    membership,
    norms,
    numbers,
    numerals,
    optim,
    order,
    padding,
    pool,
    pool_adaptive,
    pool_fractional,
    pool_places,
    products,
    quantiles,
    random,
    random_fill,
    ranges,
    recurrent,
    resize,
    segments,
    select,
    shape,
    sorted,
    spectrum,
    split,
    statistics,
    tensor_systems,
}

use opforge_core::{Kind, normalize_dim};

use crate::operator::Axes;
use crate::{DType, Error, Result, Shape, Tensor};

/// Sums a gradient over the dimensions that a broadcast stretched, back to `shape`.
pub fn sum_to(grad: &Tensor, shape: &Shape) -> Result<Tensor> {
    if grad.shape() == shape {
        return Ok(grad.clone());
    }
    let lead = (grad.rank().checked_sub(shape.rank()))
        .ok_or_else(|| Error::shapes("sum_to", grad.shape(), shape, "lhs at least of rhs's rank"))?;
    let stretched = |d: &usize| *d < lead || (shape[*d - lead] == 1 && grad.dims()[*d] != 1);
    let dims: Vec<usize> = (0..grad.rank()).filter(stretched).collect();
    grad.sum_keepdim(dims)?.reshape(shape.clone())
}

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

/// The dimensions of a reduction as Python gives them: all without `dim` or with an empty list.
pub(crate) fn reduce_dims(op: &'static str, input: &Tensor, dim: Option<&[i64]>) -> Result<Axes> {
    let Some(dims) = dim.filter(|dims| !dims.is_empty()) else {
        return Ok(Axes::all(input.rank()));
    };
    let mut axes = Axes::default();
    for &dim in dims {
        let d = normalize_dim(dim, input.rank(), op)?;
        if axes.contains(d) {
            return Err(Error::index(op, "dim", format!("{dims:?}"), "each dimension at most once"));
        }
        if d < input.rank() {
            axes = axes.with(d);
        }
    }
    Ok(axes)
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
pub(crate) fn limits(dtype: DType) -> (opforge_core::Scalar, opforge_core::Scalar) {
    use opforge_core::Scalar;
    let bits = 8 * dtype.size_in_bytes() as u32;
    match dtype.kind() {
        Kind::Bool => (Scalar::Bool(false), Scalar::Bool(true)),
        Kind::Int if dtype.is_signed() => (Scalar::Int(i64::MIN >> (64 - bits)), Scalar::Int(i64::MAX >> (64 - bits))),
        Kind::Int => (Scalar::Int(0), Scalar::UInt(u64::MAX >> (64 - bits))),
        _ => (Scalar::Float(f64::NEG_INFINITY), Scalar::Float(f64::INFINITY)),
    }
}
