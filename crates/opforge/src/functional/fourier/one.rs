//! Transforms along one dimension.

use super::lines::{self, Norm, Way, complex_input, length, real_input};
use crate::functional as f;
use crate::ops::prelude::*;

functions! { fft, ifft, rfft, irfft, hfft, ihfft }

/// The discrete Fourier transform along `dim`, cut or filled with zeros to the length `n`: number `k` is the sum of `x[j] e^(-2 pi i j k / n)`. The result is
/// complex. `norm` says who divides by the length: the transform `"backward"`, each by its root (`"ortho"`), or the one `"forward"`.
///
/// # Errors
/// For a length below 1, a dimension that there is not, another `norm`, and half precision.
///
/// ```
/// # use opforge::{Complex, Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0, 4.0], &Device::Cpu)?;
/// let y = f::fft(&x, None, -1, None)?.to_vec1::<Complex<f32>>()?;
/// assert_eq!(y[..2], [Complex::new(10.0, 0.0), Complex::new(-2.0, 2.0)]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(n = None, dim = -1, norm = None)]
#[python(fft)]
pub fn fft(input: &Tensor, n: Option<i64>, dim: i64, norm: Option<&str>) -> Result<Tensor> {
    let (x, dim) = (lines::input(OP, input)?, f::existing_dim(OP, input, dim)?);
    lines::complex(&x, dim, length(OP, n, x.dims()[dim])?, Way::Forward, Norm::new(OP, norm)?)
}

/// The inverse of [`fft`]: number `j` is the sum of `x[k] e^(2 pi i j k / n)`, divided by the length unless `norm` says otherwise.
///
/// # Errors
/// For a length below 1, a dimension that there is not, another `norm`, and half precision.
///
/// ```
/// # use opforge::{Complex, Device, Tensor, functional as f};
/// let x = Tensor::new(&[2f32, 0.0], &Device::Cpu)?;
/// assert_eq!(f::ifft(&x, None, -1, None)?.to_vec1::<Complex<f32>>()?, [Complex::new(1.0, 0.0); 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(n = None, dim = -1, norm = None)]
#[python(fft)]
pub fn ifft(input: &Tensor, n: Option<i64>, dim: i64, norm: Option<&str>) -> Result<Tensor> {
    let (x, dim) = (complex_input(OP, input)?, f::existing_dim(OP, input, dim)?);
    lines::complex(&x, dim, length(OP, n, x.dims()[dim])?, Way::Back, Norm::new(OP, norm)?)
}

/// The first `n / 2 + 1` numbers of [`fft`] of real ones; the others are their conjugates.
///
/// # Errors
/// For complex numbers, a length below 1, a dimension that there is not, another `norm`, and half precision.
///
/// ```
/// # use opforge::{Complex, Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// let wanted = [Complex::new(3.0, 0.0), Complex::new(-1.0, 0.0)];
/// assert_eq!(f::rfft(&x, None, -1, None)?.to_vec1::<Complex<f32>>()?, wanted);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(n = None, dim = -1, norm = None)]
#[python(fft)]
pub fn rfft(input: &Tensor, n: Option<i64>, dim: i64, norm: Option<&str>) -> Result<Tensor> {
    let (x, dim) = (real_input(OP, input)?, f::existing_dim(OP, input, dim)?);
    lines::of_real(&x, dim, length(OP, n, x.dims()[dim])?, Way::Forward, Norm::new(OP, norm)?)
}

/// The inverse of [`rfft`]: `n` real numbers, an even number of them unless `n` says otherwise.
///
/// # Errors
/// For a length below 1, a dimension that there is not, another `norm`, and half precision.
///
/// ```
/// # use opforge::{Complex, Device, Tensor, functional as f};
/// let x = Tensor::new(&[3f32, -1.0], &Device::Cpu)?;
/// assert_eq!(f::irfft(&x, None, -1, None)?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(n = None, dim = -1, norm = None)]
#[python(fft)]
pub fn irfft(input: &Tensor, n: Option<i64>, dim: i64, norm: Option<&str>) -> Result<Tensor> {
    let (x, dim) = (complex_input(OP, input)?, f::existing_dim(OP, input, dim)?);
    lines::to_real(&x, dim, length(OP, n, 2 * x.dims()[dim].saturating_sub(1))?, Way::Back, Norm::new(OP, norm)?)
}

/// [`fft`] of `n` numbers whose second half are conjugates of the first, which alone is given: real numbers.
///
/// # Errors
/// For a length below 1, a dimension that there is not, another `norm`, and half precision.
///
/// ```
/// # use opforge::{Complex, Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::hfft(&x, None, -1, None)?.to_vec1::<f32>()?, [3.0, -1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(n = None, dim = -1, norm = None)]
#[python(fft)]
pub fn hfft(input: &Tensor, n: Option<i64>, dim: i64, norm: Option<&str>) -> Result<Tensor> {
    let (x, dim) = (complex_input(OP, input)?, f::existing_dim(OP, input, dim)?);
    lines::to_real(&x, dim, length(OP, n, 2 * x.dims()[dim].saturating_sub(1))?, Way::Forward, Norm::new(OP, norm)?)
}

/// The inverse of [`hfft`]: the first `n / 2 + 1` numbers of [`ifft`] of real ones.
///
/// # Errors
/// For complex numbers, a length below 1, a dimension that there is not, another `norm`, and half precision.
///
/// ```
/// # use opforge::{Complex, Device, Tensor, functional as f};
/// let x = Tensor::new(&[3f32, -1.0], &Device::Cpu)?;
/// let wanted = [Complex::new(1.0, 0.0), Complex::new(2.0, 0.0)];
/// assert_eq!(f::ihfft(&x, None, -1, None)?.to_vec1::<Complex<f32>>()?, wanted);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(n = None, dim = -1, norm = None)]
#[python(fft)]
pub fn ihfft(input: &Tensor, n: Option<i64>, dim: i64, norm: Option<&str>) -> Result<Tensor> {
    let (x, dim) = (real_input(OP, input)?, f::existing_dim(OP, input, dim)?);
    lines::of_real(&x, dim, length(OP, n, x.dims()[dim])?, Way::Back, Norm::new(OP, norm)?)
}
