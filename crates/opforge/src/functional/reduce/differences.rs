//! Finite differences, and integrals by the trapezoidal rule.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { diff, trapezoid_spaced, trapezoid, cumulative_trapezoid_spaced, cumulative_trapezoid }

/// The differences of neighbours along `dim`, `n` times over, of `prepend`, `input` and `append` side by side.
///
/// # Errors
/// For scalars and a negative `n`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 4.0, 9.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::diff(&x, 1, -1, None, None)?.to_vec1::<f32>()?, [3.0, 5.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(n = 1, dim = -1, prepend = None, append = None)]
pub fn diff(input: &Tensor, n: i64, dim: i64, prepend: Option<&Tensor>, append: Option<&Tensor>) -> Result<Tensor> {
    ensure(input.rank() > 0, || f::no_dims(OP))?;
    let axis = normalize_dim(dim, input.rank(), OP)?;
    let times = usize::try_from(n).map_err(|_| Error::value(OP, "n", n, "0 or more"))?;
    if times == 0 {
        return input.copy();
    }
    let parts: Vec<Tensor> = [prepend, Some(input), append].into_iter().flatten().cloned().collect();
    let mut result = if parts.len() == 1 { input.clone() } else { f::cat(&parts, dim)? };
    for _ in 0..times.min(result.dims()[axis]) {
        let rest = result.dims()[axis] - 1;
        let (ahead, behind) = (result.narrow(axis, 1, rest)?, result.narrow(axis, 0, rest)?);
        result = match result.dtype() {
            DType::Bool => f::logical_xor((&ahead).into(), (&behind).into())?,
            _ => ahead.sub(&behind)?,
        };
    }
    Ok(result)
}

/// The area under the points along `dim`, at distances `dx`, by trapezoids.
///
/// # Errors
/// For scalars.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let y = Tensor::new(&[1f32, 3.0, 5.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::trapezoid_spaced(&y, 0.5, -1)?.to_scalar::<f32>()?, 3.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dx = 1.0, dim = -1)]
#[python(torch, name = "trapezoid")]
pub fn trapezoid_spaced(y: &Tensor, dx: f64, dim: i64) -> Result<Tensor> {
    ensure(y.rank() > 0, || f::no_dims(OP))?;
    let axis = normalize_dim(dim, y.rank(), OP)?;
    let len = y.dims()[axis];
    if len < 2 || !(y.dtype().is_float() || y.dtype().is_complex()) {
        return f::sum(&areas(OP, y, None, dx, dim)?, Some(&[dim]), false, None);
    }
    // All points but the first and the last belong to two trapezoids.
    let inner = f::sum(&y.narrow(axis, 1, len - 2)?, Some(&[dim]), false, None)?;
    let outer = y.narrow(axis, 0, 1)?.add(&y.narrow(axis, len - 1, 1)?)?.squeeze(axis)?;
    f::add((&f::mul((&inner).into(), dx.into())?).into(), (&outer).into(), Scalar::Float(0.5 * dx))
}

/// The area under the points with abscissas `x` along `dim`, by trapezoids.
///
/// # Errors
/// For scalars, and shapes that do not go together.
#[function(*, dim = -1)]
#[python(torch)]
pub fn trapezoid(y: &Tensor, x: &Tensor, dim: i64) -> Result<Tensor> {
    f::sum(&areas(OP, y, Some(x), 1.0, dim)?, Some(&[dim]), false, None)
}

/// The areas of [`trapezoid_spaced`] up to each point.
///
/// # Errors
/// For scalars.
#[function(*, dx = 1.0, dim = -1)]
#[python(torch, name = "cumulative_trapezoid")]
pub fn cumulative_trapezoid_spaced(y: &Tensor, dx: f64, dim: i64) -> Result<Tensor> {
    f::cumsum(&areas(OP, y, None, dx, dim)?, dim, None)
}

/// The areas of [`trapezoid`] up to each point.
///
/// # Errors
/// For scalars, and shapes that do not go together.
#[function(*, dim = -1)]
#[python(torch)]
pub fn cumulative_trapezoid(y: &Tensor, x: &Tensor, dim: i64) -> Result<Tensor> {
    f::cumsum(&areas(OP, y, Some(x), 1.0, dim)?, dim, None)
}

/// The area between each two neighbours.
#[track_caller]
fn areas(op: &'static str, y: &Tensor, x: Option<&Tensor>, dx: f64, dim: i64) -> Result<Tensor> {
    ensure(y.rank() > 0, || f::no_dims(op))?;
    let axis = normalize_dim(dim, y.rank(), op)?;
    let rest = y.dims()[axis].saturating_sub(1);
    let heights = |start: usize| y.narrow(axis, start.min(y.dims()[axis]), rest);
    let twice = f::add((&heights(0)?).into(), (&heights(1)?).into(), Scalar::Int(1))?;
    let Some(x) = x else {
        return f::mul((&twice).into(), (0.5 * dx).into());
    };
    let widths = if x.rank() == 1 && y.rank() > 1 {
        let mut shape = vec![1; y.rank()];
        let width = diff(x, 1, -1, None, None)?;
        shape[axis] = width.elem_count();
        width.reshape(shape)?
    } else {
        diff(x, 1, dim, None, None)?
    };
    f::mul((&f::mul((&twice).into(), (&widths).into())?).into(), 0.5.into())
}
