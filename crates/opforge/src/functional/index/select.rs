//! Elements chosen by masks and indices: read and written.

use opforge_tile::forms::Special;

use crate::functional as f;
use crate::ops::index::gather::gather_by;
use crate::ops::index::index_put::index_put_to;
use crate::ops::index::scatter::scatter_to;
use crate::ops::pointwise::where_cond::where_to;
use crate::ops::prelude::*;
use crate::ops::shape::narrow::Narrow;
use crate::ops::shape::slice::Slice;

functions! {
    index_put_in_place, masked_fill, masked_select, masked_scatter, argwhere, nonzero_tuple, nonzero_as,
    gather_as, scatter_value, index_fill, index_copy, take, put, take_along_dim, one_hot, select_scatter, slice_scatter,
}

/// [`gather`](fn@crate::functional::gather), whose gradient is dense whatever `sparse_grad` says.
///
/// # Errors
/// As [`gather`](fn@crate::functional::gather).
#[function(*, sparse_grad)]
#[python(torch, method, name = "gather")]
pub fn gather_as(input: &Tensor, dim: i64, index: &Tensor, sparse_grad: bool) -> Result<Tensor> {
    let _ = sparse_grad;
    f::gather(input, dim, index)
}

/// [`index_put`](fn@crate::functional::index_put) in place; gives the changed tensor.
#[function(accumulate = false)]
#[python(method, name = "index_put_")]
pub fn index_put_in_place(
    input: &Tensor,
    indices: &[Option<Tensor>],
    values: &Tensor,
    accumulate: bool,
) -> Result<Tensor> {
    input.index_put_set(indices, values, accumulate)?;
    Ok(input.clone())
}

/// A copy of `input` with `value`, a number or a tensor without dimensions, where the mask (bool) is true; both are broadcast.
///
/// # Errors
/// For a number that the dtype cannot hold, and a value with dimensions.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// let mask = Tensor::new(&[true, false], &Device::Cpu)?;
/// assert_eq!(f::masked_fill(&x, &mask, 7.0.into())?.to_vec1::<f32>()?, [7.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
pub fn masked_fill(input: &Tensor, mask: &Tensor, value: Operand) -> Result<Tensor> {
    let value = match value {
        Operand::Scalar(s) => Tensor::full_scalar(s, (), input.dtype(), input.device())?,
        Operand::Tensor(t) if t.rank() == 0 => t.to_dtype(input.dtype())?,
        Operand::Tensor(t) => return Err(wrong_shape(OP, "value", t.shape(), "no dimensions")),
    };
    where_to(mask, (&value).into(), input.into(), out)
}

/// The elements where the mask (bool) is true, in row-major order, in one dimension; both are broadcast.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// let mask = Tensor::new(&[[true, false], [true, true]], &Device::Cpu)?;
/// assert_eq!(f::masked_select(&x, &mask)?.to_vec1::<f32>()?, [1.0, 1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn masked_select(input: &Tensor, mask: &Tensor) -> Result<Tensor> {
    check_mask(OP, mask)?;
    let shape = input.shape().broadcast(mask.shape(), OP)?;
    if shape.rank() == 0 {
        return f::index_get(&input.reshape(1)?, &[Some(mask.reshape(1)?)]);
    }
    f::index_get(&input.broadcast_as(&shape)?, &[Some(mask.broadcast_as(&shape)?)])
}

/// A copy of `input` with the first elements of `source`, in row-major order, where the mask (bool), broadcast, is true.
///
/// # Errors
/// For a source of fewer elements than are needed, or of another dtype.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let mask = Tensor::new(&[true, false, true], &Device::Cpu)?;
/// let source = Tensor::new(&[7f32, 8.0, 9.0], &Device::Cpu)?;
/// assert_eq!(f::masked_scatter(&x, &mask, &source)?.to_vec1::<f32>()?, [7.0, 2.0, 8.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn masked_scatter(input: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    check_mask(OP, mask)?;
    let shape = input.shape().broadcast(mask.shape(), OP)?;
    let places = f::nonzero(&mask.broadcast_as(&shape)?.flatten_all()?)?.flatten_all()?;
    let count = places.elem_count();
    ensure(source.elem_count() >= count, || {
        Error::value(OP, "source", source.elem_count(), format!("at least {count} elements"))
    })?;
    let values = source.flatten_all()?.narrow(0, 0, count)?;
    f::index_put(&input.broadcast_as(&shape)?.flatten_all()?, &[Some(places)], &values, false)?.reshape(shape)
}

/// The positions of the elements that are not zero: the same as [`nonzero`](fn@crate::functional::nonzero).
#[function]
pub fn argwhere(input: &Tensor) -> Result<Tensor> {
    f::nonzero(input)
}

/// The positions of the elements that are not zero, a vector for each dimension.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[0f32, 2.0], [3.0, 0.0]], &Device::Cpu)?;
/// assert_eq!(f::nonzero_tuple(&x)?[1].to_vec1::<i64>()?, [1, 0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
pub fn nonzero_tuple(condition: &Tensor) -> Result<Vec<Tensor>> {
    f::unbind(&f::nonzero(&f::atleast_1d(condition)?)?, 1)
}

/// The positions of the elements that are not zero: rows of a matrix, or with `as_tuple` a vector for each dimension.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f, declaration::Value};
/// let x = Tensor::new(&[0f32, 2.0], &Device::Cpu)?;
/// assert!(matches!(f::nonzero_as(&x, true)?, Value::Tensors(columns) if columns.len() == 1));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, as_tuple)]
#[python(torch, method, name = "nonzero")]
pub fn nonzero_as(input: &Tensor, as_tuple: bool) -> Result<Value> {
    if as_tuple { Ok(nonzero_tuple(input)?.into()) } else { Ok(f::nonzero(input)?.into()) }
}

/// A copy of `input` with a number along `dim` at `index`, as [`scatter`](fn@crate::functional::scatter) writes a tensor.
///
/// # Errors
/// For an index that is negative or beyond the dimension, and a number that the dtype cannot hold.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let ids = Tensor::new(&[2i64, 0], &Device::Cpu)?;
/// assert_eq!(f::scatter_value(&x, 0, &ids, 9.0.into(), None)?.to_vec1::<f32>()?, [9.0, 2.0, 9.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, reduce = None, out)]
#[python(torch, method, in_place, name = "scatter")]
pub fn scatter_value(input: &Tensor, dim: i64, index: &Tensor, value: Scalar, reduce: Option<&str>) -> Result<Tensor> {
    let value = Tensor::full_scalar(value, (), input.dtype(), input.device())?;
    scatter_to(input, dim, index, &value.broadcast_as(index.shape())?, reduce, out)
}

/// A copy of `input` with a number, or a tensor without dimensions, in the slices along `dim` that a vector of indices names.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let ids = Tensor::new(&[2i64, 0], &Device::Cpu)?;
/// assert_eq!(f::index_fill(&x, 0, &ids, 9.0.into())?.to_vec1::<f32>()?, [9.0, 2.0, 9.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
pub fn index_fill(input: &Tensor, dim: i64, index: &Tensor, value: Operand) -> Result<Tensor> {
    let value = match value {
        Operand::Scalar(s) => Tensor::full_scalar(s, (), input.dtype(), input.device())?,
        // An index that comes twice would count twice in the value's gradient.
        Operand::Tensor(t) if t.rank() == 0 && t.requires_grad() => return index_fill_mask(input, dim, index, t),
        Operand::Tensor(t) if t.rank() == 0 => t.to_dtype(input.dtype())?,
        Operand::Tensor(t) => return Err(wrong_shape(OP, "value", t.shape(), "no dimensions")),
    };
    f::with_dimension(input, |x| index_put_to(x, &along(OP, x, dim, index)?, &value, false, out))
}

/// A copy of `input` with slice `i` of `source` in place of slice `index[i]`, along `dim`.
///
/// # Errors
/// For an index out of range, and a source of another shape or dtype.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let ids = Tensor::new(&[2i64, 0], &Device::Cpu)?;
/// let source = Tensor::new(&[7f32, 8.0], &Device::Cpu)?;
/// assert_eq!(f::index_copy(&x, 0, &ids, &source)?.to_vec1::<f32>()?, [8.0, 2.0, 7.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
pub fn index_copy(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    if input.rank() == 0 {
        let source = f::atleast_1d(source)?;
        return f::with_dimension(input, |input| index_copy(input, dim, index, &source));
    }
    let place = f::existing_dim(OP, input, dim)?;
    let mut expected = input.shape().clone().into_dims();
    expected[place] = index.elem_count();
    ensure(source.dims() == &expected[..], || {
        Error::shapes(OP, input.shape(), source.shape(), format!("a source of the shape {expected:?}"))
    })?;
    index_put_to(input, &along(OP, input, dim, index)?, source, false, out)
}

/// The elements that `index` names in the row-major order of all; negative indices count from the end. The result has the index's shape.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::take(&x, &Tensor::new(&[0i64, -1], &Device::Cpu)?)?.to_vec1::<f32>()?, [1.0, 4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn take(input: &Tensor, index: &Tensor) -> Result<Tensor> {
    let index = integers(OP, index)?;
    // Where flattening would copy many more elements than are taken, each is found by an index along each dimension.
    if input.is_contiguous() || index.elem_count() > input.elem_count() / 16 {
        return f::index_get(&input.flatten_all()?, &[Some(index)]);
    }
    let (mut rest, mut places) = (index, vec![None; input.rank()]);
    for d in (1..input.rank()).rev() {
        let len = Operand::from(input.dims()[d] as i64);
        places[d] = Some(f::remainder((&rest).into(), len)?);
        rest = f::floor_divide((&rest).into(), len)?;
    }
    places[0] = Some(rest);
    f::index_get(input, &places)
}

/// A copy of `input` with `source` written, or added with `accumulate`, at the places that `index` names in the row-major order of all.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::put(&x, &Tensor::new(&[-1i64], &Device::Cpu)?, &Tensor::new(&[9f32], &Device::Cpu)?, true)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 13.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(accumulate = false)]
#[python(method, in_place)]
pub fn put(input: &Tensor, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
    if index.elem_count() != source.elem_count() {
        return Err(Error::shapes(OP, index.shape(), source.shape(), "as many values as indices"));
    }
    let index = integers(OP, index)?.flatten_all()?;
    let changed = f::index_put(&input.flatten_all()?, &[Some(index)], &source.flatten_all()?, accumulate)?;
    changed.reshape(input.shape())
}

/// The elements at `indices` along `dim`, or of all in row-major order without it; beside the dimension both are broadcast.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [4.0, 3.0]], &Device::Cpu)?;
/// let order = f::argsort(&x, 1, false, false)?;
/// assert_eq!(f::take_along_dim(&x, &order, Some(1))?.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None)]
pub fn take_along_dim(input: &Tensor, indices: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    let Some(dim) = dim else {
        return take_along_dim(&input.flatten_all()?, &indices.flatten_all()?, Some(0));
    };
    ensure(indices.rank() == input.rank(), || Error::shapes(OP, input.shape(), indices.shape(), "equal ranks"))?;
    let place = f::existing_dim(OP, input, dim)?;
    let along = |t: &Tensor, n: usize| {
        let mut dims = t.shape().clone().into_dims();
        dims[place] = n;
        Shape::from(dims)
    };
    let common = along(input, 1).broadcast(&along(indices, 1), OP)?;
    let stretched = |t: &Tensor| {
        let mut dims = common.clone().into_dims();
        dims[place] = t.dims()[place];
        t.broadcast_as(dims)
    };
    let indices = integers(OP, &stretched(indices)?)?;
    gather_by(&stretched(input)?, place, &indices, Special::NegativeFromEnd)
}

/// Ones where the last dimension's position is the class that `input` holds, zeros elsewhere, in i64. `num_classes` of -1 stands for one more
/// than the largest class.
///
/// # Errors
/// For tensors that are not integers, and classes that are negative or beyond their number.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let classes = Tensor::new(&[1i64, 0], &Device::Cpu)?;
/// assert_eq!(f::one_hot(&classes, -1)?.to_vec2::<i64>()?, [[0, 1], [1, 0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(num_classes = -1)]
#[python(nn)]
pub fn one_hot(input: &Tensor, num_classes: i64) -> Result<Tensor> {
    let input = integers(OP, input)?.to_dtype(DType::I64)?;
    let classes = match num_classes {
        -1 if input.elem_count() == 0 => {
            return Err(Error::value(OP, "num_classes", -1, "a number of classes, for no elements"));
        }
        -1 => input.max_all()?.to_scalar::<i64>()?.saturating_add(1),
        n => n,
    };
    let classes = usize::try_from(classes).ok().filter(|&n| n > 0);
    let classes = classes.ok_or_else(|| Error::value(OP, "num_classes", num_classes, "at least one class"))?;
    let shape: Shape = input.dims().iter().copied().chain([classes]).collect();
    shape.check(OP, DType::I64.size_in_bytes())?;
    let zeros = Tensor::zeros((), DType::I64, input.device())?.broadcast_as(shape)?;
    scatter_value(&zeros, -1, &input.unsqueeze(input.rank())?, Scalar::Int(1), None)
}

/// A copy of `input` with `src` in place of element `index` of dimension `dim`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::select_scatter(&x, &Tensor::new(&[7f32, 8.0], &Device::Cpu)?, 1, 0)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[7.0, 2.0], [8.0, 4.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn select_scatter(input: &Tensor, src: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    let dim = f::existing_dim(OP, input, dim)?;
    let start = f::position(OP, input.dims()[dim], index)?;
    if src.rank() + 1 != input.rank() {
        return Err(Error::shapes(OP, input.shape(), src.shape(), "a source of one dimension less"));
    }
    overlay(Narrow { dim, start, len: 1 }, input, &src.unsqueeze(dim)?.to_dtype(input.dtype())?)
}

/// A copy of `input` with `src` in place of every `step`-th element of `dim` from `start` up to `end`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let y = f::slice_scatter(&x, &Tensor::new(&[7f32, 8.0], &Device::Cpu)?, 0, None, None, 2)?;
/// assert_eq!(y.to_vec1::<f32>()?, [7.0, 2.0, 8.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0, start = None, end = None, step = 1)]
pub fn slice_scatter(
    input: &Tensor,
    src: &Tensor,
    dim: i64,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> Result<Tensor> {
    overlay(Slice::of(OP, input, dim, start, end, step)?, input, &src.to_dtype(input.dtype())?)
}

/// [`index_fill`] by a mask of the slices.
#[track_caller]
fn index_fill_mask(input: &Tensor, dim: i64, index: &Tensor, value: &Tensor) -> Result<Tensor> {
    f::with_dimension(input, |x| {
        let d = f::existing_dim("index_fill", x, dim)?;
        let mut shape = vec![1; x.rank()];
        shape[d] = x.dims()[d];
        let none = Tensor::zeros(shape[d], DType::Bool, x.device())?;
        let chosen = index_fill(&none, 0, index, Scalar::Bool(true).into())?;
        masked_fill(x, &chosen.reshape(shape)?, value.into())
    })
}

fn check_mask(op: &'static str, mask: &Tensor) -> Result<()> {
    match mask.dtype() {
        DType::Bool | DType::U8 => Ok(()),
        other => Err(Error::dtype(op, "mask", other, "bool")),
    }
}

/// Indices that are integers: bytes too, which are masks elsewhere.
fn integers(op: &'static str, index: &Tensor) -> Result<Tensor> {
    ensure(index.dtype().is_int(), || Error::dtype(op, "index", index.dtype(), "an integer dtype"))?;
    index.to_dtype(DType::I64)
}

/// A vector of indices into one dimension, all of those before it taken whole.
fn along(op: &'static str, input: &Tensor, dim: i64, index: &Tensor) -> Result<Vec<Option<Tensor>>> {
    let dim = f::existing_dim(op, input, dim)?;
    let index = integers(op, index)?;
    ensure(index.rank() <= 1, || wrong_shape(op, "index", index.shape(), "a vector"))?;
    let mut indices = vec![None; dim];
    indices.push(Some(f::atleast_1d(&index)?));
    Ok(indices)
}
