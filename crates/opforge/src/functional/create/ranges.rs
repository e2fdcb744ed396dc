//! Numbers between bounds.

use crate::arguments::{default_dtype, leaf};
use crate::functional::{self as f, complex_dtype};
use crate::ops::prelude::*;

functions! { arange_to, linspace, logspace }

/// The numbers 0, 1, .. before `end`: [`arange`](fn@crate::functional::arange) from 0.
///
/// # Errors
/// For an end that is negative or not finite.
///
/// ```
/// let x = opforge::functional::arange_to(3i64.into(), None, None, false)?;
/// assert_eq!(x.to_vec1::<i64>()?, [0, 1, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(torch, name = "arange")]
pub fn arange_to(end: Scalar, dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    f::arange(0i64.into(), end, 1i64.into(), dtype, device, requires_grad)
}

/// `steps` numbers at equal distances from `start` to `end`, both included, of the default dtype (that of complex numbers, where a bound is one) unless
/// `dtype` says otherwise.
///
/// # Errors
/// For a negative number of steps, and complex bounds of another dtype.
///
/// ```
/// let x = opforge::functional::linspace(0i64.into(), 1i64.into(), 5, None, None, false)?;
/// assert_eq!(x.to_vec1::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
pub fn linspace(
    start: Scalar,
    end: Scalar,
    steps: i64,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let dtype = dtype_of([start, end], dtype);
    leaf(spaced(OP, [start, end], steps, dtype, device, &|numbers| numbers.to_dtype(dtype))?, requires_grad)
}

/// `base` to the power of `steps` numbers at equal distances from `start` to `end`, both included, whose dtype is [`linspace`](fn@crate::functional::linspace)'s.
///
/// # Errors
/// For a negative number of steps, and complex bounds of another dtype.
///
/// ```
/// let x = opforge::functional::logspace(0i64.into(), 2i64.into(), 3, 10.0, None, None, false)?;
/// assert_eq!(x.to_vec1::<f32>()?, [1.0, 10.0, 100.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(base = 10.0, *, dtype = None, device = None, requires_grad = false)]
pub fn logspace(
    start: Scalar,
    end: Scalar,
    steps: i64,
    base: f64,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let dtype = dtype_of([start, end], dtype);
    let power = |exponents: &Tensor| f::pow(base.into(), exponents.into())?.to_dtype(dtype);
    leaf(spaced(OP, [start, end], steps, dtype, device, &power)?, requires_grad)
}

fn is_complex(bounds: [Scalar; 2]) -> bool {
    bounds.iter().any(|s| matches!(s, Scalar::Complex(..)))
}

fn dtype_of(bounds: [Scalar; 2], dtype: Option<DType>) -> DType {
    let complex = || complex_dtype(default_dtype()).unwrap_or(DType::C64);
    dtype.unwrap_or_else(|| if is_complex(bounds) { complex() } else { default_dtype() })
}

/// What becomes of numbers in f64, of which the second half is counted from the end, so that both bounds are exact. For integers the bounds are whole,
/// and the parts of complex numbers are spaced each.
#[track_caller]
fn spaced(
    op: &'static str,
    [start, end]: [Scalar; 2],
    steps: i64,
    dtype: DType,
    device: Option<Device>,
    finish: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    ensure(steps >= 0, || Error::value(op, "steps", steps, "0 or more"))?;
    if is_complex([start, end]) {
        ensure(dtype.is_complex(), || Error::dtype(op, "dtype", dtype, "that of complex numbers, as bounds are"))?;
        let [(re, im), (last_re, last_im)] = [start, end].map(Scalar::to_complex);
        let part =
            |bounds: [f64; 2]| spaced(op, bounds.map(Scalar::Float), steps, DType::F64, device, &|x| Ok(x.clone()));
        return finish(&f::complex(&part([re, last_re])?, &part([im, last_im])?)?);
    }
    let [start, end] = [start, end].map(|s| if dtype.is_int() { s.to_f64().trunc() } else { s.to_f64() });
    let step = if steps > 1 { (end - start) / (steps - 1) as f64 } else { 0.0 };
    let numbers = |places: [i64; 3], step: f64, bound: f64| {
        let [from, to, by] = places.map(Scalar::Int);
        finish(&f::arange(from, to, by, Some(DType::F64), device, false)?.affine(step, bound)?)
    };
    let second = steps / 2;
    let ahead = numbers([0, steps - second, 1], step, start)?;
    if steps < 2 {
        return Ok(ahead);
    }
    Tensor::cat(&[&ahead, &numbers([second - 1, -1, -1], -step, end)?], 0)
}
