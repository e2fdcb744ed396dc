//! Shapes seen in another way: views, as far as the layout allows.

use crate::functional as f;

use crate::ops::prelude::*;
use crate::ops::shape::expand::Expand;
use crate::ops::shape::permute::Permute;
use crate::ops::shape::reshape::Reshape;

functions! {
    view_size, view_dtype, view_as, reshape_as, flatten, ravel, unflatten, t, swapaxes, swapdims, movedim, moveaxis,
    select, broadcast_to, expand_as, broadcast_tensors, atleast_1d, atleast_2d, atleast_3d, atleast_1d_each,
    atleast_2d_each, atleast_3d_each, clone, contiguous, narrow_copy,
}

/// The same elements under another shape, one length of which may be -1: always a view.
///
/// # Errors
/// Also where only a copy could have the shape.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::zeros((2, 6), DType::F32, &Device::Cpu)?;
/// assert_eq!(f::view_size(&x, &[3, -1])?.dims(), [3, 4]);
/// assert!(f::view_size(&x.t()?, &[12]).is_err());
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(method, name = "view")]
#[view]
pub fn view_size(input: &Tensor, size: &[i64]) -> Result<Tensor> {
    let shape = crate::ops::shape::reshape::resolve(input.elem_count(), size)?;
    view(Reshape { shape }, input)
}

/// The same bytes as elements of another dtype: a view. If its size is another, the last dimension shrinks or grows.
///
/// # Errors
/// For a last dimension that does not hold a whole number of the larger elements side by side.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, -2.0], &Device::Cpu)?;
/// assert_eq!(f::view_dtype(&x, DType::U32)?.to_vec1::<u32>()?, [0x3f80_0000, 0xc000_0000]);
/// assert_eq!(f::view_dtype(&x, DType::U8)?.dims(), [8]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(method, name = "view")]
#[view]
pub fn view_dtype(input: &Tensor, dtype: DType) -> Result<Tensor> {
    input.bits_as(dtype)
}

/// The elements under the shape of another tensor: a view.
///
/// # Errors
/// Where only a copy could have the shape.
#[function]
#[python(method)]
#[view]
pub fn view_as(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    view(Reshape { shape: other.shape().clone() }, input)
}

/// The elements under the shape of another tensor: a view where the layout allows it, else a copy.
///
/// # Errors
/// For another number of elements.
#[function]
#[python(method)]
#[view]
pub fn reshape_as(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    input.reshape(other.shape())
}

/// Dimensions `start_dim` to `end_dim`, both included, joined into one. A tensor without dimensions gets one.
///
/// # Errors
/// For dimensions out of range or order.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::zeros((2, 3, 4), DType::F32, &Device::Cpu)?;
/// assert_eq!(f::flatten(&x, 1, -1)?.dims(), [2, 12]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(start_dim = 0, end_dim = -1)]
#[view]
pub fn flatten(input: &Tensor, start_dim: i64, end_dim: i64) -> Result<Tensor> {
    let dim = |d| normalize_dim(d, input.rank(), OP);
    let (start, end) = (dim(start_dim)?, dim(end_dim)?);
    ensure(start <= end, || Error::index(OP, "start_dim", start_dim, format!("at most end_dim, {end_dim}")))?;
    input.flatten(start, end)
}

/// All elements in row-major order in one dimension: a view where the layout allows it, else a copy.
#[function]
#[view]
pub fn ravel(input: &Tensor) -> Result<Tensor> {
    input.flatten_all()
}

/// Dimension `dim` split into several of these lengths, one of which may be -1.
///
/// # Errors
/// For lengths whose product is not the dimension's.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::zeros((2, 12), DType::F32, &Device::Cpu)?;
/// assert_eq!(f::unflatten(&x, 1, &[3, -1])?.dims(), [2, 3, 4]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[view]
pub fn unflatten(input: &Tensor, dim: i64, sizes: &[i64]) -> Result<Tensor> {
    let dim = f::existing_dim(OP, input, dim)?;
    let parts = crate::ops::shape::reshape::resolve(input.dims()[dim], sizes)?;
    input.reshape([&input.dims()[..dim], parts.dims(), &input.dims()[dim + 1..]].concat())
}

/// A matrix transposed; vectors and scalars as they are. A view.
///
/// # Errors
/// For more than two dimensions.
#[function]
#[python(torch, method, in_place)]
#[view]
pub fn t(input: &Tensor) -> Result<Tensor> {
    match input.rank() {
        0 | 1 => Ok(input.clone()),
        2 => input.t(),
        _ => Err(wrong_shape(OP, "input", input.shape(), "rank at most 2")),
    }
}

/// Two dimensions exchanged: a view. The same as [`transpose`](fn@crate::functional::transpose).
#[function]
#[python(torch, method, in_place)]
#[view]
pub fn swapaxes(input: &Tensor, axis0: i64, axis1: i64) -> Result<Tensor> {
    f::transpose(input, axis0, axis1)
}

/// Two dimensions exchanged: a view. The same as [`transpose`](fn@crate::functional::transpose).
#[function]
#[python(torch, method, in_place)]
#[view]
pub fn swapdims(input: &Tensor, dim0: i64, dim1: i64) -> Result<Tensor> {
    f::transpose(input, dim0, dim1)
}

/// Dimensions moved from the places `source` to the places `destination`, the others in their order: a view.
///
/// # Errors
/// For lists of unequal length, and dimensions out of range or named twice.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::zeros((2, 3, 4), DType::F32, &Device::Cpu)?;
/// assert_eq!(f::movedim(&x, &[0], &[-1])?.dims(), [3, 4, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[view]
pub fn movedim(input: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    let (from, to) = (distinct(input, source)?, distinct(input, destination)?);
    ensure(from.len() == to.len(), || Error::value(OP, "destination", to.len(), format!("{} dimensions", from.len())))?;
    let mut rest = (0..input.rank()).filter(|d| !from.contains(d));
    let place = |k: usize| to.iter().position(|&d| d == k).map(|i| from[i]);
    let dims = (0..input.rank()).filter_map(|k| place(k).or_else(|| rest.next())).collect();
    view(Permute { dims }, input)
}

/// The same as [`movedim`].
#[function]
#[view]
pub fn moveaxis(input: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    movedim(input, source, destination)
}

/// The element `index` of `dim`, which goes away: a view. A negative index counts from the end.
///
/// # Errors
/// For an index or a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::select(&x, 1, -1)?.to_vec1::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[view]
pub fn select(input: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    let dim = f::existing_dim(OP, input, dim)?;
    input.narrow(dim, f::position(OP, input.dims()[dim], index)?, 1)?.squeeze(dim)
}

/// Stretched to `size`, as [`expand`](fn@crate::functional::expand): a view.
#[function]
#[view]
pub fn broadcast_to(input: &Tensor, size: &[i64]) -> Result<Tensor> {
    f::expand(input, size)
}

/// Stretched to the shape of another tensor: a view.
#[function]
#[python(method)]
#[view]
pub fn expand_as(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    view(Expand { shape: other.shape().clone() }, input)
}

/// Tensors stretched to a common shape: views.
///
/// # Errors
/// For shapes that do not go together.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Device::Cpu);
/// assert_eq!(f::broadcast_tensors(&[zeros(&[3, 1])?, zeros(&[2])?])?[1].dims(), [3, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[view]
pub fn broadcast_tensors(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let empty = Shape::from(());
    let common = tensors.iter().try_fold(empty, |shape, t| shape.broadcast(t.shape(), OP))?;
    tensors.iter().map(|t| t.broadcast_as(&common)).collect()
}

/// With at least one dimension.
#[function]
#[python(torch)]
#[view]
pub fn atleast_1d(input: &Tensor) -> Result<Tensor> {
    if input.rank() == 0 { input.reshape(1) } else { Ok(input.clone()) }
}

/// With at least two dimensions, new ones first.
#[function]
#[python(torch)]
#[view]
pub fn atleast_2d(input: &Tensor) -> Result<Tensor> {
    if input.rank() < 2 { atleast_1d(input)?.unsqueeze(0) } else { Ok(input.clone()) }
}

/// With at least three dimensions, a third one last.
#[function]
#[python(torch)]
#[view]
pub fn atleast_3d(input: &Tensor) -> Result<Tensor> {
    let plane = atleast_2d(input)?;
    if plane.rank() < 3 { plane.unsqueeze(plane.rank()) } else { Ok(plane) }
}

/// Each with at least one dimension.
#[function]
#[python(torch, name = "atleast_1d")]
#[view]
pub fn atleast_1d_each(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    tensors.iter().map(atleast_1d).collect()
}

/// Each with at least two dimensions, new ones first.
#[function]
#[python(torch, name = "atleast_2d")]
#[view]
pub fn atleast_2d_each(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    tensors.iter().map(atleast_2d).collect()
}

/// Each with at least three dimensions, a third one last.
#[function]
#[python(torch, name = "atleast_3d")]
#[view]
pub fn atleast_3d_each(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    tensors.iter().map(atleast_3d).collect()
}

/// The same elements in memory of their own, without gaps and with the dimensions in the order in which the input's lie; gradients pass.
#[function]
pub fn clone(input: &Tensor) -> Result<Tensor> {
    in_order_of(input, Tensor::copy)
}

/// The tensor itself if it is row-major, otherwise a row-major copy.
#[function]
#[python(method)]
#[view]
pub fn contiguous(input: &Tensor) -> Result<Tensor> {
    input.contiguous()
}

/// Dimensions as Python counts them, each at most once.
fn distinct(input: &Tensor, dims: &[i64]) -> Result<SmallVec<[usize; 6]>> {
    let places =
        dims.iter().map(|&d| f::existing_dim("movedim", input, d)).collect::<Result<SmallVec<[usize; 6]>>>()?;
    match (1..places.len()).find(|&i| places[..i].contains(&places[i])) {
        Some(_) => Err(Error::index("movedim", "dims", format!("{dims:?}"), "each dimension at most once")),
        None => Ok(places),
    }
}

/// [`narrow`](fn@crate::functional::narrow) in new memory.
///
/// # Errors
/// For elements that the dimension does not have.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::narrow_copy(&x, 0, 1, 2)?.to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn narrow_copy(input: &Tensor, dim: i64, start: i64, length: usize) -> Result<Tensor> {
    f::copy(&f::narrow(input, dim, start, length)?)
}
