//! The greatest and the least: of a tensor, along a dimension, of two tensors.

use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::reduce::amax::TotalExtremum;

functions! { max, max_of_two, max_dim, min, min_of_two, min_dim, aminmax }

/// The greatest of all elements. NaN wins. Those that are equal to it share the gradient, NaN too.
///
/// # Errors
/// When there are none.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::max(&x)?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn max(input: &Tensor) -> Result<Tensor> {
    reduce_over(TotalExtremum::<true>, input, None, false)
}

/// The greatest of two, element by element: [`maximum`](fn@crate::functional::maximum).
///
/// # Errors
/// For shapes that do not broadcast.
#[function]
#[python(torch, method, name = "max")]
pub fn max_of_two(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    f::maximum(input.into(), other.into())
}

/// The greatest element along `dim`, and its index, the first of several. NaN wins. The gradient goes to that element.
///
/// # Errors
/// For a dimension that is out of range or empty.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// let (value, index) = opforge::functional::max_dim(&x, 0, false)?;
/// assert_eq!((value.to_scalar::<f32>()?, index.to_scalar::<i64>()?), (5.0, 1));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(keepdim = false)]
#[python(torch, method, name = "max", results(values, indices))]
pub fn max_dim(input: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    along(input, dim, keepdim, OP, f::argmax)
}

/// The least of all elements. NaN wins. Those that are equal to it share the gradient, NaN too.
///
/// # Errors
/// When there are none.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::min(&x)?.to_scalar::<f32>()?, 1.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn min(input: &Tensor) -> Result<Tensor> {
    reduce_over(TotalExtremum::<false>, input, None, false)
}

/// The least of two, element by element: [`minimum`](fn@crate::functional::minimum).
///
/// # Errors
/// For shapes that do not broadcast.
#[function]
#[python(torch, method, name = "min")]
pub fn min_of_two(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    f::minimum(input.into(), other.into())
}

/// The least element along `dim`, and its index, the first of several. NaN wins. The gradient goes to that element.
///
/// # Errors
/// For a dimension that is out of range or empty.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// let (value, index) = opforge::functional::min_dim(&x, 0, false)?;
/// assert_eq!((value.to_scalar::<f32>()?, index.to_scalar::<i64>()?), (1.0, 0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(keepdim = false)]
#[python(torch, method, name = "min", results(values, indices))]
pub fn min_dim(input: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    along(input, dim, keepdim, OP, f::argmin)
}

/// The least and the greatest element along `dim`, of all without it.
///
/// # Errors
/// When there are no elements to choose from.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// let (min, max) = opforge::functional::aminmax(&x, None, false)?;
/// assert_eq!((min.to_scalar::<f32>()?, max.to_scalar::<f32>()?), (1.0, 5.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dim = None, keepdim = false)]
#[python(torch, method, results(min, max))]
pub fn aminmax(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let dims = dim.map(|dim| [dim]);
    let dims = dims.as_ref().map(|dims| &dims[..]);
    Ok((f::amin(input, dims, keepdim)?, f::amax(input, dims, keepdim)?))
}

/// The element along `dim` whose index `arg` finds, and the index.
#[track_caller]
pub(super) fn along(
    input: &Tensor,
    dim: i64,
    keepdim: bool,
    op: &'static str,
    arg: impl Fn(&Tensor, Option<i64>, bool) -> Result<Tensor>,
) -> Result<(Tensor, Tensor)> {
    let axis = opforge_core::normalize_dim(dim, input.rank(), op)?;
    if input.rank() == 0 {
        return Ok((input.copy()?, Tensor::zeros((), DType::I64, input.device())?));
    }
    let index = arg(input, Some(dim), true)?;
    let value = f::gather(input, dim, &index)?;
    if keepdim { Ok((value, index)) } else { Ok((value.squeeze(axis)?, index.squeeze(axis)?)) }
}
