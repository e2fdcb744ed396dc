//! Means, variances and sums: with their combinations, without NaN, as covariances.

use crate::functional::{self as f, Parts, part_dtype};
use crate::ops::prelude::*;

functions! {
    var_all, var_over, var_mean, var_mean_all, var_mean_over, std_all, std_over, std_mean, std_mean_all,
    std_mean_over, nanmean, logsumexp, count_nonzero, cov, corrcoef,
}

/// The variance of all elements: over `count - 1` if `unbiased`, else over `count`.
#[function]
#[python(torch, method, name = "var")]
pub fn var_all(input: &Tensor, unbiased: bool) -> Result<Tensor> {
    f::var(input, None, correction(unbiased), false)
}

/// The variance over dimensions: over `count - 1` if `unbiased`, else over `count`.
#[function(dim = None, unbiased = true, keepdim = false)]
#[python(torch, method, name = "var")]
pub fn var_over(input: &Tensor, dim: Option<&[i64]>, unbiased: bool, keepdim: bool) -> Result<Tensor> {
    f::var(input, dim, correction(unbiased), keepdim)
}

/// The variance and the mean over dimensions, all of them without `dim`: see [`var`](fn@crate::functional::var).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// let (var, mean) = opforge::functional::var_mean(&x, None, Some(0.0), false)?;
/// assert_eq!((var.to_scalar::<f32>()?, mean.to_scalar::<f32>()?), (4.0, 3.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, *, correction = None, keepdim = false)]
#[python(torch)]
pub fn var_mean(
    input: &Tensor,
    dim: Option<&[i64]>,
    correction: Option<f64>,
    keepdim: bool,
) -> Result<(Tensor, Tensor)> {
    Ok((f::var(input, dim, correction, keepdim)?, f::mean(input, dim, keepdim, None)?))
}

/// The variance and the mean of all elements: over `count - 1` if `unbiased`, else over `count`.
#[function]
#[python(torch, name = "var_mean")]
pub fn var_mean_all(input: &Tensor, unbiased: bool) -> Result<(Tensor, Tensor)> {
    var_mean(input, None, correction(unbiased), false)
}

/// The variance and the mean over dimensions: over `count - 1` if `unbiased`, else over `count`.
#[function(dim = None, unbiased = true, keepdim = false)]
#[python(torch, name = "var_mean")]
pub fn var_mean_over(input: &Tensor, dim: Option<&[i64]>, unbiased: bool, keepdim: bool) -> Result<(Tensor, Tensor)> {
    var_mean(input, dim, correction(unbiased), keepdim)
}

/// The standard deviation of all elements: over `count - 1` if `unbiased`, else over `count`.
#[function]
#[python(torch, method, name = "std")]
pub fn std_all(input: &Tensor, unbiased: bool) -> Result<Tensor> {
    f::std(input, None, correction(unbiased), false)
}

/// The standard deviation over dimensions: over `count - 1` if `unbiased`, else over `count`.
#[function(dim = None, unbiased = true, keepdim = false)]
#[python(torch, method, name = "std")]
pub fn std_over(input: &Tensor, dim: Option<&[i64]>, unbiased: bool, keepdim: bool) -> Result<Tensor> {
    f::std(input, dim, correction(unbiased), keepdim)
}

/// The standard deviation and the mean over dimensions, all of them without `dim`: see [`std`](fn@crate::functional::std).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 5.0], &Device::Cpu)?;
/// let (std, mean) = opforge::functional::std_mean(&x, None, Some(0.0), false)?;
/// assert_eq!((std.to_scalar::<f32>()?, mean.to_scalar::<f32>()?), (2.0, 3.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, *, correction = None, keepdim = false)]
#[python(torch)]
pub fn std_mean(
    input: &Tensor,
    dim: Option<&[i64]>,
    correction: Option<f64>,
    keepdim: bool,
) -> Result<(Tensor, Tensor)> {
    Ok((f::std(input, dim, correction, keepdim)?, f::mean(input, dim, keepdim, None)?))
}

/// The standard deviation and the mean of all elements: over `count - 1` if `unbiased`, else over `count`.
#[function]
#[python(torch, name = "std_mean")]
pub fn std_mean_all(input: &Tensor, unbiased: bool) -> Result<(Tensor, Tensor)> {
    std_mean(input, None, correction(unbiased), false)
}

/// The standard deviation and the mean over dimensions: over `count - 1` if `unbiased`, else over `count`.
#[function(dim = None, unbiased = true, keepdim = false)]
#[python(torch, name = "std_mean")]
pub fn std_mean_over(input: &Tensor, dim: Option<&[i64]>, unbiased: bool, keepdim: bool) -> Result<(Tensor, Tensor)> {
    std_mean(input, dim, correction(unbiased), keepdim)
}

/// The mean over dimensions, all of them without `dim`, of the elements that are not NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, f32::NAN], &Device::Cpu)?;
/// assert_eq!(opforge::functional::nanmean(&x, None, false, None)?.to_scalar::<f32>()?, 1.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false, *, dtype = None)]
pub fn nanmean(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let input = input.to_dtype(dtype.unwrap_or(input.dtype()))?;
    let count = f::sum(&f::logical_not(&f::isnan(&input)?)?, dim, keepdim, None)?;
    f::div((&f::nansum(&input, dim, keepdim, None)?).into(), (&count).into(), None)
}

/// `log(sum(exp(x)))` over dimensions, without overflow; of complex numbers too.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1000f32, 1000.0], &Device::Cpu)?;
/// let y = opforge::functional::logsumexp(&x, &[0], false)?.to_scalar::<f32>()?;
/// assert!((y - 1000.6931).abs() < 1e-3);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(keepdim = false)]
#[python(torch, method, special)]
pub fn logsumexp(input: &Tensor, dim: &[i64], keepdim: bool) -> Result<Tensor> {
    let x = floating(input)?;
    let axes = f::reduce_dims(OP, &x, Some(dim))?;
    if axes.count(x.shape()) == 0 {
        return f::log(&f::sum(&f::exp(&x)?, Some(dim), keepdim, None)?);
    }
    // Subtracting an infinite maximum would give NaN.
    let greatest = f::amax(&f::real(&x.detach())?, Some(dim), true)?;
    let shift = f::where_cond(&f::isfinite(&greatest)?, (&greatest).into(), 0.0.into())?;
    let shifted = f::sub((&*x).into(), (&shift).into(), Scalar::Int(1))?;
    let sum = f::sum(&f::exp(&shifted)?, Some(dim), true, None)?;
    let result = f::add((&f::log(&sum)?).into(), (&shift).into(), Scalar::Int(1))?;
    if keepdim { Ok(result) } else { result.reshape(axes.reduced(x.shape(), false)) }
}

/// The number of elements over dimensions, all of them without `dim`, that are not 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 0.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::count_nonzero(&x, None)?.to_scalar::<i64>()?, 1);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None)]
pub fn count_nonzero(input: &Tensor, dim: Option<&[i64]>) -> Result<Tensor> {
    if input.dtype() == DType::Bool {
        return f::sum(input, dim, false, None);
    }
    f::sum(&f::ne(input.into(), 0i64.into())?, dim, false, None)
}

/// The covariance matrix of variables, a row each, over `count - correction` observations. How often each observation counts is told by
/// `fweights`, whole numbers, and `aweights`.
///
/// # Errors
/// For more than two dimensions, and weights that are not a number for each observation.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[0f32, 2.0], [2.0, 0.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cov(&x, 1.0, None, None)?.to_vec2::<f32>()?, [[2.0, -2.0], [-2.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, correction = 1.0, fweights = None, aweights = None)]
pub fn cov(input: &Tensor, correction: f64, fweights: Option<&Tensor>, aweights: Option<&Tensor>) -> Result<Tensor> {
    ensure(input.rank() <= 2, || wrong_shape(OP, "input", input.shape(), "at most two dimensions"))?;
    let x = floating(input)?;
    let rows = if x.rank() < 2 { x.reshape((1, x.elem_count()))? } else { x.into_owned() };
    let Some(weights) = observation_weights(&rows, fweights, aweights)? else {
        let centred = f::sub((&rows).into(), (&f::mean(&rows, Some(&[1]), true, None)?).into(), Scalar::Int(1))?;
        let real = part_dtype(rows.dtype()).unwrap_or(rows.dtype());
        let count = Tensor::full_scalar((rows.dims()[1] as f64 - correction).into(), (), real, rows.device())?;
        return covariance(input, &centred, &centred, &count);
    };
    let total = weights.sum_all()?;
    let weighted = |x: &Tensor| f::mul(x.into(), (&weights).into());
    let mean = f::div((&weighted(&rows)?.sum_keepdim(1)?).into(), (&total).into(), None)?;
    let centred = rows.broadcast_sub(&mean)?;
    let lost = match aweights {
        Some(own) => weights.mul(&own.to_dtype(weights.dtype())?)?.sum_all()?.div(&total)?,
        None => total.ones_like()?,
    };
    covariance(input, &centred, &weighted(&centred)?, &total.sub(&lost.affine(correction, 0.0)?)?)
}

/// The matrix of correlation coefficients of variables, a row each.
///
/// # Errors
/// For more than two dimensions.
#[function]
pub fn corrcoef(input: &Tensor) -> Result<Tensor> {
    let covariance = cov(input, 1.0, None, None)?;
    if covariance.rank() == 0 {
        return f::div((&covariance).into(), (&covariance).into(), None);
    }
    let deviation = f::real(&f::diagonal(&covariance, 0, 0, 1)?)?.sqrt()?;
    let scaled = f::div((&covariance).into(), (&deviation.unsqueeze(1)?).into(), None)?;
    let scaled = f::div((&scaled).into(), (&deviation).into(), None)?;
    let bounded = |x: &Tensor| x.clamp(-1.0, 1.0);
    if scaled.dtype().is_complex() { Parts::of(&scaled)?.map(bounded)?.join() } else { bounded(&scaled) }
}

/// The product of both kinds of weights, a number for each column of `rows`, in its dtype, or in that of complex numbers' parts.
#[track_caller]
fn observation_weights(rows: &Tensor, whole: Option<&Tensor>, other: Option<&Tensor>) -> Result<Option<Tensor>> {
    for (name, weights) in [("fweights", whole), ("aweights", other)] {
        if let Some(weights) = weights.filter(|w| w.rank() > 1 || w.elem_count() != rows.dims()[1]) {
            return Err(wrong_shape("cov", name, weights.shape(), format!("a vector of {} weights", rows.dims()[1])));
        }
    }
    if let Some(weights) = whole.filter(|w| !w.dtype().is_int()) {
        return Err(Error::dtype("cov", "fweights", weights.dtype(), "an integer dtype"));
    }
    let real = part_dtype(rows.dtype()).unwrap_or(rows.dtype());
    let given = whole.into_iter().chain(other).map(|w| w.to_dtype(real));
    given.reduce(|a, b| a?.mul(&b?)).transpose()
}

/// The products of the rows of `a` and `b` over `count`, or 0 if that is negative; a number for a single row.
#[track_caller]
fn covariance(input: &Tensor, a: &Tensor, b: &Tensor, count: &Tensor) -> Result<Tensor> {
    let products = f::matmul(a, &f::adjoint(b)?)?;
    let products = f::div((&products).into(), (&f::clamp(count, Some(0.0.into()), None)?).into(), None)?;
    if input.rank() < 2 || input.dims()[0] == 1 { products.reshape(()) } else { Ok(products) }
}

fn correction(unbiased: bool) -> Option<f64> {
    Some(f64::from(unbiased))
}
