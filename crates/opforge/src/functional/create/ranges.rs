//! Numbers between bounds.

use crate::arguments::{default_dtype, leaf};
use crate::functional as f;
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

/// `steps` numbers at equal distances from `start` to `end`, both included, of the default dtype unless `dtype` says otherwise.
///
/// # Errors
/// For a negative number of steps, and bounds that are not real.
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
    let dtype = dtype.unwrap_or(default_dtype());
    leaf(spaced(OP, [start, end], steps, dtype, device, |numbers| numbers.to_dtype(dtype))?, requires_grad)
}

/// `base` to the power of `steps` numbers at equal distances from `start` to `end`, both included.
///
/// # Errors
/// For a negative number of steps, and bounds that are not real.
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
    let dtype = dtype.unwrap_or(default_dtype());
    let power = |exponents: &Tensor| f::pow(base.into(), exponents.into())?.to_dtype(dtype);
    leaf(spaced(OP, [start, end], steps, dtype, device, power)?, requires_grad)
}

/// What becomes of numbers in f64, of which the second half is counted from the end, so that both bounds are exact. For integers the bounds are whole.
#[track_caller]
fn spaced(
    op: &'static str,
    [start, end]: [Scalar; 2],
    steps: i64,
    dtype: DType,
    device: Option<Device>,
    finish: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    ensure(steps >= 0, || Error::value(op, "steps", steps, "0 or more"))?;
    if [start, end].iter().any(|s| matches!(s, Scalar::Complex(..))) {
        return Err(Error::value(op, "start, end", format!("{start}, {end}"), "real numbers"));
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
