//! Elements repeated, turned around and moved: copies.

use crate::functional as f;
use opforge_runtime::alloc::Room;

use crate::ops::prelude::*;

functions! {
    flipud, fliplr, roll, rot90, repeat, tile, repeat_interleave, repeat_interleave_each, repeated_positions,
}

/// The rows in reverse order: the first dimension flipped.
#[function]
pub fn flipud(input: &Tensor) -> Result<Tensor> {
    f::flip(input, &[0])
}

/// The columns in reverse order: the second dimension flipped.
#[function]
pub fn fliplr(input: &Tensor) -> Result<Tensor> {
    f::flip(input, &[1])
}

/// Elements moved along dimensions, those that leave at one end coming back at the other; without `dims`, along all elements in row-major
/// order.
///
/// # Errors
/// For another number of shifts than of dimensions.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(f::roll(&x, &[1], Some(&[0]))?.to_vec1::<f32>()?, [3.0, 1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dims = None)]
pub fn roll(input: &Tensor, shifts: &[i64], dims: Option<&[i64]>) -> Result<Tensor> {
    let Some(dims) = dims.filter(|dims| !dims.is_empty()) else {
        let [shift] = shifts else {
            return Err(Error::value(OP, "shifts", format!("{shifts:?}"), "one shift, without dims"));
        };
        return rolled(&input.flatten_all()?, 0, *shift)?.reshape(input.shape());
    };
    if dims.len() != shifts.len() {
        return Err(Error::value(OP, "shifts", format!("{shifts:?}"), format!("{} shifts", dims.len())));
    }
    let step = |t: Tensor, (&shift, &dim): (&i64, &i64)| rolled(&t, f::existing_dim(OP, &t, dim)?, shift);
    shifts.iter().zip(dims).try_fold(input.clone(), step)
}

/// Turned by `k` quarter turns in the plane of two dimensions, from the first towards the second.
///
/// # Errors
/// Unless there are two different dimensions.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::rot90(&x, 1, &[0, 1])?.to_vec2::<f32>()?, [[2.0, 4.0], [1.0, 3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(k = 1, dims = &[0, 1])]
pub fn rot90(input: &Tensor, k: i64, dims: &[i64]) -> Result<Tensor> {
    let &[first, second] = dims else {
        return Err(Error::value(OP, "dims", format!("{dims:?}"), "two dimensions"));
    };
    let same = normalize_dim(first, input.rank(), OP)? == normalize_dim(second, input.rank(), OP)?;
    ensure(!same && input.rank() >= 2, || Error::value(OP, "dims", format!("{dims:?}"), "two different dimensions"))?;
    match k.rem_euclid(4) {
        0 => input.copy(),
        1 => f::transpose(&f::flip(input, &[second])?, first, second),
        2 => f::flip(input, dims),
        _ => f::transpose(&f::flip(input, &[first])?, first, second),
    }
}

/// Laid side by side with itself, `repeats[d]` times in each dimension; dimensions align at the end.
///
/// # Errors
/// For fewer numbers than dimensions, and negative ones.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::repeat(&x, &[2, 1])?.to_vec2::<f32>()?, [[1.0, 2.0], [1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(method)]
pub fn repeat(input: &Tensor, repeats: &[i64]) -> Result<Tensor> {
    ensure(repeats.len() >= input.rank(), || {
        Error::value(OP, "repeats", format!("{repeats:?}"), format!("at least {} numbers", input.rank()))
    })?;
    f::apart(input.repeat(f::size_to_shape(OP, repeats)?)?, input)
}

/// As [`repeat`]; for fewer numbers than dimensions, the first dimensions stay as they are.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0]], &Device::Cpu)?;
/// assert_eq!(f::tile(&x, &[2])?.to_vec2::<f32>()?, [[1.0, 2.0, 1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn tile(input: &Tensor, dims: &[i64]) -> Result<Tensor> {
    let kept = vec![1; input.rank().saturating_sub(dims.len())];
    f::apart(input.repeat(f::size_to_shape(OP, &[&kept, dims].concat())?)?, input)
}

/// Each element of `dim`, or of all in row-major order without it, `repeats` times.
///
/// # Errors
/// For a negative number.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::repeat_interleave(&x, 2, None, None)?.to_vec1::<f32>()?, [1.0, 1.0, 2.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, *, output_size = None)]
pub fn repeat_interleave(input: &Tensor, repeats: i64, dim: Option<i64>, output_size: Option<i64>) -> Result<Tensor> {
    let _ = output_size;
    let (x, dim) = along(input, dim)?;
    let x = in_rows(&x)?;
    let times = usize::try_from(repeats).map_err(|_| Error::value(OP, "repeats", repeats, "0 or more"))?;
    let stretched = [&x.dims()[..=dim], &[times], &x.dims()[dim + 1..]].concat();
    Shape::from(&stretched[..]).check(OP, x.dtype().size_in_bytes())?;
    f::apart(x.unsqueeze(dim + 1)?.broadcast_as(stretched)?.flatten(dim, dim + 1)?, input)
}

/// Each element of `dim`, or of all in row-major order without it, as often as a vector of integers says.
///
/// # Errors
/// For a vector of another length than the dimension, and negative numbers.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, n) = (Tensor::new(&[5f32, 6.0], &Device::Cpu)?, Tensor::new(&[1i64, 2], &Device::Cpu)?);
/// assert_eq!(f::repeat_interleave_each(&x, &n, None, None)?.to_vec1::<f32>()?, [5.0, 6.0, 6.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, *, output_size = None)]
#[python(torch, method, name = "repeat_interleave")]
pub fn repeat_interleave_each(
    input: &Tensor,
    repeats: &Tensor,
    dim: Option<i64>,
    output_size: Option<i64>,
) -> Result<Tensor> {
    let _ = output_size;
    let (x, dim) = along(input, dim)?;
    let repeats =
        if repeats.elem_count() == 1 { repeats.reshape(1)?.broadcast_as(x.dims()[dim])? } else { repeats.clone() };
    ensure(repeats.dims() == [x.dims()[dim]], || {
        wrong_shape(OP, "repeats", repeats.shape(), format!("a vector of {}", x.dims()[dim]))
    })?;
    f::index_select(&x, dim as i64, &repeated_positions(&repeats.to_dtype(DType::I64)?, None)?)
}

/// `0, 1, 2, ..`, each as often as a vector of integers says, in their dtype.
#[function(*, output_size = None)]
#[python(torch, name = "repeat_interleave")]
pub fn repeated_positions(repeats: &Tensor, output_size: Option<i64>) -> Result<Tensor> {
    let _ = output_size;
    ensure(repeats.dtype().is_int(), || Error::dtype(OP, "repeats", repeats.dtype(), "an integer dtype"))?;
    let counts = repeats.to_dtype(DType::I64)?.to_vec1::<i64>()?;
    if let Some(wrong) = counts.iter().find(|&&n| n < 0) {
        return Err(Error::value(OP, "repeats", wrong, "0 or more"));
    }
    let total = counts.iter().try_fold(0i64, |sum, &n| sum.checked_add(n)).unwrap_or(i64::MAX) as usize;
    Shape::from(total).check(OP, DType::I64.size_in_bytes())?;
    let mut positions = Room::with_capacity(total)?;
    for (i, &n) in counts.iter().enumerate() {
        (0..n).try_for_each(|_| positions.push(i as i64))?;
    }
    Tensor::from_room(positions, total, repeats.device())?.to_dtype(repeats.dtype())
}

/// The tensor and its dimension; all elements in a vector without one.
fn along(input: &Tensor, dim: Option<i64>) -> Result<(Tensor, usize)> {
    match dim {
        None => Ok((input.flatten_all()?, 0)),
        Some(dim) => Ok((input.clone(), f::existing_dim("repeat_interleave", input, dim)?)),
    }
}

#[track_caller]
fn rolled(t: &Tensor, dim: usize, shift: i64) -> Result<Tensor> {
    let len = t.dims()[dim];
    if len == 0 {
        return t.copy();
    }
    let shift = shift.rem_euclid(len as i64) as usize;
    Tensor::cat(&[&t.narrow(dim, len - shift, shift)?, &t.narrow(dim, 0, len - shift)?], dim)
}
