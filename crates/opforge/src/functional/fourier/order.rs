//! The frequencies of transforms, and the orders they are put in.

use crate::arguments::{default_dtype, leaf};
use crate::functional as f;
use crate::ops::prelude::*;

functions! { fftfreq, rfftfreq, fftshift, ifftshift }

/// The frequencies of [`fft`](f::fft) of `n` numbers at distances `d`: `0, 1, .., -2, -1` over `n d`.
///
/// # Errors
/// For a negative number.
///
/// ```
/// let x = opforge::functional::fftfreq(4, 1.0, None, None, false)?;
/// assert_eq!(x.to_vec1::<f32>()?, [0.0, 0.25, -0.5, -0.25]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(d = 1.0, *, dtype = None, device = None, requires_grad = false)]
#[python(fft)]
pub fn fftfreq(n: i64, d: f64, dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    let n = usize::try_from(n).map_err(|_| Error::value(OP, "n", n, "0 or more"))? as i64;
    let middle = n / 2 + n % 2;
    let part = |from: i64, to: i64| f::arange(from.into(), to.into(), 1i64.into(), Some(DType::I64), device, false);
    let steps = Tensor::cat(&[&part(0, middle)?, &part(middle - n, 0)?], 0)?;
    scaled(&steps, n, d, dtype, requires_grad)
}

/// The frequencies of [`rfft`](f::rfft) of `n` numbers at distances `d`: `0, 1, .., n / 2` over `n d`.
///
/// # Errors
/// For a negative number.
///
/// ```
/// let x = opforge::functional::rfftfreq(4, 1.0, None, None, false)?;
/// assert_eq!(x.to_vec1::<f32>()?, [0.0, 0.25, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(d = 1.0, *, dtype = None, device = None, requires_grad = false)]
#[python(fft)]
pub fn rfftfreq(n: i64, d: f64, dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    let n = usize::try_from(n).map_err(|_| Error::value(OP, "n", n, "0 or more"))? as i64;
    let steps = f::arange(0i64.into(), (n / 2 + 1).into(), 1i64.into(), Some(DType::I64), device, false)?;
    scaled(&steps, n, d, dtype, requires_grad)
}

/// Whole numbers over `n d`.
fn scaled(steps: &Tensor, n: i64, d: f64, dtype: Option<DType>, requires_grad: bool) -> Result<Tensor> {
    let wide = steps.to_dtype(DType::F64)?.affine(1.0 / (n as f64 * d), 0.0)?;
    leaf(wide.to_dtype(dtype.unwrap_or(default_dtype()))?, requires_grad)
}

/// The frequency 0 moved from the beginning to the middle of the dimensions, of all without `dim`.
///
/// # Errors
/// For a dimension that there is not.
///
/// ```
/// # use opforge::functional as f;
/// let x = f::fftshift(&f::fftfreq(4, 0.25, None, None, false)?, None)?;
/// assert_eq!(x.to_vec1::<f32>()?, [-2.0, -1.0, 0.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None)]
#[python(fft)]
pub fn fftshift(input: &Tensor, dim: Option<&[i64]>) -> Result<Tensor> {
    shifted(OP, input, dim, |len| len / 2)
}

/// The inverse of [`fftshift`].
///
/// # Errors
/// For a dimension that there is not.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[-1f32, 0.0, 1.0], &Device::Cpu)?;
/// assert_eq!(f::ifftshift(&x, None)?.to_vec1::<f32>()?, [0.0, 1.0, -1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None)]
#[python(fft)]
pub fn ifftshift(input: &Tensor, dim: Option<&[i64]>) -> Result<Tensor> {
    shifted(OP, input, dim, |len| len / 2 + len % 2)
}

#[track_caller]
fn shifted(op: &'static str, input: &Tensor, dim: Option<&[i64]>, by: impl Fn(usize) -> usize) -> Result<Tensor> {
    let all: Vec<i64> = (0..input.rank() as i64).collect();
    let dims = dim.unwrap_or(&all);
    if dims.is_empty() {
        return input.copy();
    }
    let shift = |&dim: &i64| Ok(by(input.dims()[f::existing_dim(op, input, dim)?]) as i64);
    f::roll(input, &dims.iter().map(shift).collect::<Result<Vec<i64>>>()?, Some(dims))
}
