//! Elements by their rank: medians, the k-th, the most frequent.

use super::extrema::along;
use crate::functional as f;
use crate::ops::index::argplace::middle_number;
use crate::ops::prelude::*;

functions! { median, median_dim, nanmedian, nanmedian_dim, kthvalue, mode }

/// The median of all elements, the lower one of two; NaN if any is NaN, or if there are none.
///
/// # Errors
/// For no integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32, 1.0, 3.0, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::median(&x)?.to_scalar::<f32>()?, 2.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn median(input: &Tensor) -> Result<Tensor> {
    of_all(input, median_dim)
}

/// The median along `dim`, the lower one of two, and its index; NaN where any is NaN.
///
/// # Errors
/// For a dimension that is out of range or empty.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32, 1.0, 3.0, 2.0], &Device::Cpu)?;
/// let (value, index) = opforge::functional::median_dim(&x, 0, false)?;
/// assert_eq!((value.to_scalar::<f32>()?, index.to_scalar::<i64>()?), (2.0, 3));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(keepdim = false)]
#[python(torch, method, name = "median", results(values, indices))]
pub fn median_dim(input: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    placed(input, dim, keepdim, OP, |input, axis| {
        let middle = f::argplace(input, axis, (input.dims()[axis] - 1) / 2, 1)?;
        unless_nan(input, axis, &middle)
    })
}

/// The median of all elements that are not NaN; NaN if there are none.
///
/// # Errors
/// For no integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32, f32::NAN, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::nanmedian(&x)?.to_scalar::<f32>()?, 3.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn nanmedian(input: &Tensor) -> Result<Tensor> {
    of_all(input, nanmedian_dim)
}

/// The median along `dim` of the elements that are not NaN, and its index.
///
/// # Errors
/// For a dimension that is out of range or empty.
#[function(keepdim = false)]
#[python(torch, method, name = "nanmedian", results(values, indices))]
pub fn nanmedian_dim(input: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    placed(input, dim, keepdim, OP, middle_number)
}

/// The `k`-th least element along `dim`, counted from 1, and its index.
///
/// # Errors
/// For a `k` that the dimension does not have.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32, 1.0, 3.0], &Device::Cpu)?;
/// let (value, index) = opforge::functional::kthvalue(&x, 2, -1, false)?;
/// assert_eq!((value.to_scalar::<f32>()?, index.to_scalar::<i64>()?), (3.0, 2));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = -1, keepdim = false)]
#[python(torch, method, results(values, indices))]
pub fn kthvalue(input: &Tensor, k: i64, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let axis = normalize_dim(dim, input.rank(), OP)?;
    let len = input.dims().get(axis).copied().unwrap_or(1);
    let Some(place) = usize::try_from(k).ok().and_then(|k| k.checked_sub(1)).filter(|&place| place < len) else {
        return Err(Error::index(OP, "k", k, format!("1 to {len}")));
    };
    placed(input, dim, keepdim, OP, |input, axis| f::argplace(input, axis, place, 1))
}

/// The most frequent element along `dim`, the least of several, and the index of its last occurrence.
///
/// # Errors
/// For a dimension that is out of range or empty.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4i64, 1, 4, 3], &Device::Cpu)?;
/// let (value, index) = opforge::functional::mode(&x, -1, false)?;
/// assert_eq!((value.to_scalar::<i64>()?, index.to_scalar::<i64>()?), (4, 2));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = -1, keepdim = false)]
#[python(torch, method, results(values, indices))]
pub fn mode(input: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    placed(input, dim, keepdim, OP, |input, axis| {
        let order = f::argsort(input, axis as i64, false, true)?;
        let sorted = f::gather(input, axis as i64, &order)?;
        let len = sorted.dims()[axis];
        let mut shape = vec![1; sorted.rank()];
        shape[axis] = len;
        let places = f::arange_to(Scalar::from(len), None, Some(*input.device()), false)?.reshape(shape)?;
        let places = places.broadcast_as(sorted.shape())?;
        // How far into its run of equal elements each place is: the distance from the last place where a run began.
        let mut first = sorted.dims().to_vec();
        first[axis] = 1;
        let begin = Tensor::zeros(first, DType::Bool, input.device())?;
        let same = f::eq((&sorted.narrow(axis, 1, len - 1)?).into(), (&sorted.narrow(axis, 0, len - 1)?).into())?;
        let same = Tensor::cat(&[&begin, &same], axis)?;
        let starts = f::where_cond(&same, 0i64.into(), (&places).into())?;
        let depth = places.sub(&f::cummax(&starts, axis as i64)?.0)?;
        f::gather(&order, axis as i64, &f::argmax(&depth, Some(axis as i64), true)?)
    })
}

/// The median that `along` finds among all elements; NaN of no floats.
#[track_caller]
fn of_all(input: &Tensor, along: fn(&Tensor, i64, bool) -> Result<(Tensor, Tensor)>) -> Result<Tensor> {
    if input.elem_count() == 0 && input.dtype().is_float() {
        let nan = Tensor::full_scalar(Scalar::Float(f64::NAN), (), input.dtype(), input.device())?;
        return f::constant_in(nan, &[input]);
    }
    let found = along(&input.detach().flatten_all()?, 0, false)?.0;
    if input.requires_grad() { shared(input, &found) } else { Ok(found) }
}

/// A value that elements have, whose gradient all elements that are equal to it share.
#[track_caller]
fn shared(input: &Tensor, value: &Tensor) -> Result<Tensor> {
    let equal = f::eq(input.into(), value.into())?;
    let equal = f::logical_or(
        (&equal).into(),
        (&f::logical_and((&f::isnan(input)?).into(), (&f::isnan(value)?).into())?).into(),
    )?;
    f::max(&f::where_cond(&equal, input.into(), f64::NEG_INFINITY.into())?)
}

/// Indices along an axis, or, where a float there is NaN, the index of the first.
#[track_caller]
pub(super) fn unless_nan(input: &Tensor, axis: usize, indices: &Tensor) -> Result<Tensor> {
    if !input.dtype().is_float() {
        return Ok(indices.clone());
    }
    let greatest = f::argmax(input, Some(axis as i64), true)?;
    let broken = f::isnan(&f::gather(input, axis as i64, &greatest)?)?;
    f::where_cond(&broken, (&greatest).into(), indices.into())
}

/// The element along `dim` whose index `choose` finds along an axis of elements without gradient, and the index.
#[track_caller]
fn placed(
    input: &Tensor,
    dim: i64,
    keepdim: bool,
    op: &'static str,
    choose: impl Fn(&Tensor, usize) -> Result<Tensor>,
) -> Result<(Tensor, Tensor)> {
    along(input, dim, keepdim, op, |input, _, _| {
        let axis = normalize_dim(dim, input.rank(), op)?;
        ensure(input.dims()[axis] != 0, || wrong_shape(op, "input", input.shape(), "at least one element along dim"))?;
        choose(&input.detach(), axis)
    })
}
