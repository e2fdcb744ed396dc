//! Transforms along several dimensions, one after the other.

use super::lines::{self, Norm, Way, complex_input, real_input};
use crate::functional as f;
use crate::ops::prelude::*;

functions! {
    fft2, ifft2, rfft2, irfft2, hfft2, ihfft2, fftn, ifftn, rfftn, irfftn, hfftn, ihfftn,
}

/// The dimensions of a transform, and how many numbers each has on the side that is not cut to half.
struct Extent {
    dims: Vec<usize>,
    lengths: Vec<usize>,
}

impl Extent {
    /// Of lengths and dimensions as Python gives them: without `dim`, as many of the last as there are lengths, or all. A length of -1 is the input's own;
    /// where the input is `half` a spectrum, that of the last dimension is twice as long.
    fn new(op: &'static str, x: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, half: bool) -> Result<Extent> {
        let rank = x.rank();
        let dims = match (dim, s) {
            (Some(dim), _) => dim.iter().map(|&d| f::existing_dim(op, x, d)).collect::<Result<Vec<usize>>>()?,
            (None, Some(s)) if s.len() <= rank => (rank - s.len()..rank).collect(),
            (None, Some(s)) => return Err(Error::value(op, "s", format!("{s:?}"), format!("at most {rank} lengths"))),
            (None, None) => (0..rank).collect(),
        };
        let repeated = (1..dims.len()).any(|i| dims[..i].contains(&dims[i]));
        ensure(!repeated, || Error::value(op, "dim", format!("{dims:?}"), "each dimension at most once"))?;
        let s = s.map_or(vec![-1; dims.len()], <[i64]>::to_vec);
        ensure(s.len() == dims.len(), || Error::value(op, "s", format!("{s:?}"), format!("{} lengths", dims.len())))?;
        let own = |i: usize| match x.dims()[dims[i]] {
            len if half && i + 1 == dims.len() => 2 * len.saturating_sub(1),
            len => len,
        };
        let length = |(i, &n): (usize, &i64)| lines::length(op, Some(n).filter(|&n| n != -1), own(i));
        let lengths = s.iter().enumerate().map(length).collect::<Result<Vec<usize>>>()?;
        Ok(Extent { dims, lengths })
    }

    /// The last dimension, with its length, apart from the others.
    fn split_last(mut self, op: &'static str) -> Result<(Extent, usize, usize)> {
        match (self.dims.pop(), self.lengths.pop()) {
            (Some(dim), Some(len)) => Ok((self, dim, len)),
            _ => Err(Error::value(op, "dim", "[]", "at least one dimension")),
        }
    }

    /// Complex transforms along all dimensions.
    #[track_caller]
    fn complex(&self, x: Tensor, way: Way, norm: Norm) -> Result<Tensor> {
        let along = |x: Tensor, (&dim, &n): (&usize, &usize)| lines::complex(&x, dim, n, way, norm);
        self.dims.iter().zip(&self.lengths).rev().try_fold(x, along)
    }
}

#[track_caller]
fn to_complex(
    op: &'static str,
    input: &Tensor,
    s: Option<&[i64]>,
    dim: Option<&[i64]>,
    way: Way,
    norm: Option<&str>,
) -> Result<Tensor> {
    let extent = Extent::new(op, input, s, dim, false)?;
    // The first transform forward is of real numbers where these are.
    let numbers = if way == Way::Forward && !extent.dims.is_empty() { lines::input } else { complex_input };
    extent.complex(numbers(op, input)?, way, Norm::new(op, norm)?)
}

#[track_caller]
fn from_real(
    op: &'static str,
    input: &Tensor,
    s: Option<&[i64]>,
    dim: Option<&[i64]>,
    way: Way,
    norm: Option<&str>,
) -> Result<Tensor> {
    let (extent, last, n) = Extent::new(op, input, s, dim, false)?.split_last(op)?;
    let norm = Norm::new(op, norm)?;
    extent.complex(lines::of_real(&real_input(op, input)?, last, n, way, norm)?, way, norm)
}

#[track_caller]
fn to_real(
    op: &'static str,
    input: &Tensor,
    s: Option<&[i64]>,
    dim: Option<&[i64]>,
    way: Way,
    norm: Option<&str>,
) -> Result<Tensor> {
    let (extent, last, n) = Extent::new(op, input, s, dim, true)?.split_last(op)?;
    let norm = Norm::new(op, norm)?;
    lines::to_real(&extent.complex(complex_input(op, input)?, way, norm)?, last, n, way, norm)
}

/// [`fft`](f::fft) along dimensions: the lengths `s`, or the input's, of `dim`, the last two if not said otherwise.
///
/// # Errors
/// As [`fft`](f::fft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::fft2(&x, None, &[-2, -1], None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 10.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = &[-2, -1], norm = None)]
#[python(fft)]
pub fn fft2(input: &Tensor, s: Option<&[i64]>, dim: &[i64], norm: Option<&str>) -> Result<Tensor> {
    to_complex(OP, input, s, Some(dim), Way::Forward, norm)
}

/// [`ifft`](f::ifft) along dimensions, the last two if not said otherwise.
///
/// # Errors
/// As [`ifft`](f::ifft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::ifft2(&x, None, &[-2, -1], None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = &[-2, -1], norm = None)]
#[python(fft)]
pub fn ifft2(input: &Tensor, s: Option<&[i64]>, dim: &[i64], norm: Option<&str>) -> Result<Tensor> {
    to_complex(OP, input, s, Some(dim), Way::Back, norm)
}

/// [`rfft`](f::rfft) along the last of the dimensions, then [`fft`](f::fft) along the others, the last two if not said otherwise.
///
/// # Errors
/// As [`rfft`](f::rfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::rfft2(&x, None, &[-2, -1], None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 10.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = &[-2, -1], norm = None)]
#[python(fft)]
pub fn rfft2(input: &Tensor, s: Option<&[i64]>, dim: &[i64], norm: Option<&str>) -> Result<Tensor> {
    from_real(OP, input, s, Some(dim), Way::Forward, norm)
}

/// [`ifft`](f::ifft) along all dimensions but the last, then [`irfft`](f::irfft) along that, the last two if not said otherwise.
///
/// # Errors
/// As [`irfft`](f::irfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::irfft2(&x, None, &[-2, -1], None)?.to_vec2::<f32>()?[0][0], 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = &[-2, -1], norm = None)]
#[python(fft)]
pub fn irfft2(input: &Tensor, s: Option<&[i64]>, dim: &[i64], norm: Option<&str>) -> Result<Tensor> {
    to_real(OP, input, s, Some(dim), Way::Back, norm)
}

/// [`fft`](f::fft) along all dimensions but the last, then [`hfft`](f::hfft) along that, the last two if not said otherwise.
///
/// # Errors
/// As [`hfft`](f::hfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::hfft2(&x, None, &[-2, -1], None)?.to_vec2::<f32>()?[0][0], 10.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = &[-2, -1], norm = None)]
#[python(fft)]
pub fn hfft2(input: &Tensor, s: Option<&[i64]>, dim: &[i64], norm: Option<&str>) -> Result<Tensor> {
    to_real(OP, input, s, Some(dim), Way::Forward, norm)
}

/// [`ihfft`](f::ihfft) along the last of the dimensions, then [`ifft`](f::ifft) along the others, the last two if not said otherwise.
///
/// # Errors
/// As [`ihfft`](f::ihfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::ihfft2(&x, None, &[-2, -1], None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = &[-2, -1], norm = None)]
#[python(fft)]
pub fn ihfft2(input: &Tensor, s: Option<&[i64]>, dim: &[i64], norm: Option<&str>) -> Result<Tensor> {
    from_real(OP, input, s, Some(dim), Way::Back, norm)
}

/// [`fft`](f::fft) along dimensions: the lengths `s`, or the input's, of `dim`; all of them, or as many of the last as `s` has, without `dim`.
///
/// # Errors
/// As [`fft`](f::fft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::fftn(&x, None, None, None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 10.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = None, norm = None)]
#[python(fft)]
pub fn fftn(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    to_complex(OP, input, s, dim, Way::Forward, norm)
}

/// [`ifft`](f::ifft) along dimensions; all of them, or as many of the last as `s` has, without `dim`.
///
/// # Errors
/// As [`ifft`](f::ifft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::ifftn(&x, None, None, None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = None, norm = None)]
#[python(fft)]
pub fn ifftn(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    to_complex(OP, input, s, dim, Way::Back, norm)
}

/// [`rfft`](f::rfft) along the last of the dimensions, then [`fft`](f::fft) along the others; all of them, or as many of the last as `s` has, without `dim`.
///
/// # Errors
/// As [`rfft`](f::rfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::rfftn(&x, None, None, None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 10.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = None, norm = None)]
#[python(fft)]
pub fn rfftn(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    from_real(OP, input, s, dim, Way::Forward, norm)
}

/// [`ifft`](f::ifft) along all dimensions but the last, then [`irfft`](f::irfft) along that; all of them, or as many of the last as `s` has, without `dim`.
///
/// # Errors
/// As [`irfft`](f::irfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::irfftn(&x, None, None, None)?.to_vec2::<f32>()?[0][0], 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = None, norm = None)]
#[python(fft)]
pub fn irfftn(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    to_real(OP, input, s, dim, Way::Back, norm)
}

/// [`fft`](f::fft) along all dimensions but the last, then [`hfft`](f::hfft) along that; all of them, or as many of the last as `s` has, without `dim`.
///
/// # Errors
/// As [`hfft`](f::hfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::hfftn(&x, None, None, None)?.to_vec2::<f32>()?[0][0], 10.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = None, norm = None)]
#[python(fft)]
pub fn hfftn(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    to_real(OP, input, s, dim, Way::Forward, norm)
}

/// [`ihfft`](f::ihfft) along the last of the dimensions, then [`ifft`](f::ifft) along the others; all of them, or as many of the last as `s` has, without `dim`.
///
/// # Errors
/// As [`ihfft`](f::ihfft), and for a dimension twice.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::ihfftn(&x, None, None, None)?;
/// assert_eq!(f::real(&y)?.to_vec2::<f32>()?[0][0], 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(s = None, dim = None, norm = None)]
#[python(fft)]
pub fn ihfftn(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    from_real(OP, input, s, dim, Way::Back, norm)
}
