//! Slices combined that belong together: by their indices, or lying side by side.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { index_reduce, segment_reduce, sum_to_size }

/// A copy of `input` with slice `i` of `source` combined with slice `index[i]`, along `dim`: `reduce` is `"prod"`, `"mean"`, `"amax"` or
/// `"amin"`. Without `include_self` the slices of `input` stay only where nothing is written.
///
/// # Errors
/// For an index out of range, a source of another shape or dtype, and another `reduce`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let (ids, source) = (Tensor::new(&[2i64, 2], &Device::Cpu)?, Tensor::new(&[5f32, 7.0], &Device::Cpu)?);
/// assert_eq!(f::index_reduce(&x, 0, &ids, &source, "mean", false)?.to_vec1::<f32>()?, [1.0, 2.0, 6.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, include_self = true)]
#[python(torch, method, in_place)]
pub fn index_reduce(
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
    reduce: &str,
    include_self: bool,
) -> Result<Tensor> {
    if input.rank() == 0 {
        let source = f::atleast_1d(source)?;
        return f::with_dimension(input, |x| index_reduce(x, dim, index, &source, reduce, include_self));
    }
    let axis = f::existing_dim(OP, input, dim)?;
    let mut expected = input.shape().clone().into_dims();
    expected[axis] = index.elem_count();
    if index.rank() > 1 || source.dims() != &expected[..] {
        let accepted = format!("a vector of indices and a source of the shape {expected:?}");
        return Err(Error::shapes(OP, index.shape(), source.shape(), accepted));
    }
    ensure(reduce != "sum", || Error::value(OP, "reduce", reduce, "\"prod\", \"mean\", \"amax\" or \"amin\""))?;
    combined(input, axis, index, source, reduce, include_self)
}

/// Slices that lie side by side along `axis` combined: `reduce` is `"sum"`, `"mean"`, `"prod"`, `"max"` or `"min"`. The segments are told by their
/// `lengths`, or by the `offsets` where they begin and the last one ends, one row of them for each place before `axis`. They begin with
/// `initial`; without it an empty one gives what changes nothing, a mean NaN.
///
/// # Errors
/// Unless one of `lengths` and `offsets` is given, goes with the data and covers it; for integers and another `reduce`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 5.0], &Device::Cpu)?;
/// let lengths = Tensor::new(&[2i64, 1], &Device::Cpu)?;
/// assert_eq!(f::segment_reduce(&x, "max", Some(&lengths), None, None, 0, None)?.to_vec1::<f32>()?, [2.0, 5.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, lengths = None, indices = None, offsets = None, axis = 0, initial = None)]
#[python(torch)]
pub fn segment_reduce(
    data: &Tensor,
    reduce: &str,
    lengths: Option<&Tensor>,
    indices: Option<&Tensor>,
    offsets: Option<&Tensor>,
    axis: i64,
    initial: Option<f64>,
) -> Result<Tensor> {
    ensure(indices.is_none(), || Error::value(OP, "indices", "a tensor", "None: lengths or offsets"))?;
    check_float(OP, "data", data)?;
    let axis = f::existing_dim(OP, data, axis)?;
    let lengths = match (lengths, offsets) {
        (Some(lengths), None) => lengths.clone(),
        (None, Some(offsets)) => f::diff(offsets, 1, -1, None, None)?,
        _ => return Err(Error::value(OP, "lengths, offsets", "both or neither", "one of the two")),
    };
    let lead = &data.dims()[..axis];
    let rows = f::sum(&lengths, Some(&[-1]), false, None)?;
    let covered =
        || f::all(&f::eq((&rows).into(), Scalar::from(data.dims()[axis]).into())?, None, false)?.to_scalar::<bool>();
    if lengths.rank() != axis + 1 || &lengths.dims()[..axis] != lead || !covered()? {
        let accepted = format!("{lead:?} rows of lengths that cover {} slices", data.dims()[axis]);
        return Err(Error::shapes(OP, data.shape(), lengths.shape(), accepted));
    }
    let (how, neutral) = match reduce {
        "sum" => ("sum", 0.0),
        "mean" => ("sum", 0.0),
        "prod" => ("prod", 1.0),
        "max" => ("amax", f64::NEG_INFINITY),
        "min" => ("amin", f64::INFINITY),
        other => return Err(Error::value(OP, "reduce", other, "\"sum\", \"mean\", \"prod\", \"max\" or \"min\"")),
    };
    let lengths = lengths.flatten_all()?.to_dtype(DType::I64)?;
    let count = lengths.elem_count();
    let segments = Tensor::arange(0i64, count as i64, data.device())?;
    let owner = f::repeat_interleave_each(&segments, &lengths, None, None)?;
    let rest = data.dims()[axis + 1..].to_vec();
    let slices = data.reshape([&[owner.elem_count()], &rest[..]].concat())?;
    let base = Tensor::full_scalar(
        initial.unwrap_or(neutral).into(),
        [&[count], &rest[..]].concat(),
        data.dtype(),
        data.device(),
    )?;
    let mut result = combined(&base, 0, &owner, &slices, how, true)?;
    if reduce == "mean" {
        let shape = [&[count], &vec![1; rest.len()][..]].concat();
        let filled = f::gt((&lengths).into(), 0i64.into())?.reshape(shape.clone())?;
        let by = lengths.to_dtype(data.dtype())?.reshape(shape)?;
        let empty = initial.unwrap_or(f64::NAN);
        result = f::where_cond(&filled, (&result.broadcast_div(&by)?).into(), empty.into())?;
    }
    let segments = count / lead.iter().product::<usize>().max(1);
    result.reshape([lead, &[segments], &rest].concat())
}

/// The sums over what a broadcast of a tensor of this size would stretch, back to the size.
///
/// # Errors
/// For a size that does not broadcast to the tensor's.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::sum_to_size(&x, &[1, 2])?.to_vec2::<f32>()?, [[4.0, 6.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(method)]
pub fn sum_to_size(input: &Tensor, size: &[i64]) -> Result<Tensor> {
    let shape = f::size_to_shape(OP, size)?;
    if shape.broadcast(input.shape(), OP).ok().as_ref() != Some(input.shape()) {
        return Err(Error::shapes(OP, input.shape(), &shape, "a size that broadcasts to the tensor's"));
    }
    // Sums of integers and truth values are i64.
    let whole = input.dtype().kind() < opforge_core::Kind::Float;
    f::apart(f::sum_to(&if whole { input.to_dtype(DType::I64)? } else { input.clone() }, &shape)?, input)
}

/// Slices combined with those that an index names: each element is told the place of its slice.
#[track_caller]
fn combined(
    input: &Tensor,
    axis: usize,
    index: &Tensor,
    source: &Tensor,
    how: &str,
    include_self: bool,
) -> Result<Tensor> {
    let mut along = vec![1; source.rank()];
    along[axis] = index.elem_count();
    let index = index.reshape(along)?.broadcast_as(source.shape())?;
    f::scatter_reduce(input, axis as i64, &index, source, how, include_self)
}
