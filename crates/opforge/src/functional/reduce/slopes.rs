//! Numerical gradients: slopes of functions that are given by samples.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { gradient, gradient_spaced, gradient_at }

/// The slopes along each of the dimensions, all of them without `dim`, of a function that `input` has samples of, `spacing` apart (1 if not given): from both
/// neighbours, at the edges from one (`edge_order` 1) or two (2).
///
/// # Errors
/// For fewer samples than needed, integers, and another order.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 4.0], &Device::Cpu)?;
/// assert_eq!(f::gradient(&x, None, None, 1)?[0].to_vec1::<f32>()?, [1.0, 1.5, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, spacing = None, dim = None, edge_order = 1)]
#[python(torch)]
pub fn gradient(input: &Tensor, spacing: Option<f64>, dim: Option<&[i64]>, edge_order: i64) -> Result<Vec<Tensor>> {
    let dims = dims(input, dim)?;
    let even = vec![spacing.unwrap_or(1.0); dims.len()];
    slopes(input, &dims, edge_order, true, |k, axis| steps(input, axis, even[k]))
}

/// As [`gradient`], with a distance for each dimension.
///
/// # Errors
/// As [`gradient`], and unless there are as many distances as dimensions.
#[function(*, spacing, dim = None, edge_order = 1)]
#[python(torch, name = "gradient")]
pub fn gradient_spaced(input: &Tensor, spacing: &[f64], dim: Option<&[i64]>, edge_order: i64) -> Result<Vec<Tensor>> {
    let dims = dims(input, dim)?;
    as_many(spacing.len(), dims.len())?;
    slopes(input, &dims, edge_order, true, |k, axis| steps(input, axis, spacing[k]))
}

/// As [`gradient`], with the samples' coordinates, a vector for each dimension.
///
/// # Errors
/// As [`gradient`], and for coordinates that do not go with the samples.
#[function(*, spacing, dim = None, edge_order = 1)]
#[python(torch, name = "gradient")]
pub fn gradient_at(input: &Tensor, spacing: &[Tensor], dim: Option<&[i64]>, edge_order: i64) -> Result<Vec<Tensor>> {
    let dims = dims(input, dim)?;
    as_many(spacing.len(), dims.len())?;
    slopes(input, &dims, edge_order, false, |k, axis| {
        let at = &spacing[k];
        if at.rank() != 1 || at.elem_count() != input.dims()[axis] {
            return Err(Error::shapes(OP, input.shape(), at.shape(), "a vector of as many coordinates as samples"));
        }
        f::diff(&at.to_dtype(f::floating(input)?.dtype())?, 1, -1, None, None)
    })
}

fn dims(input: &Tensor, dim: Option<&[i64]>) -> Result<Vec<usize>> {
    let all: Vec<i64> = (0..input.rank() as i64).collect();
    dim.unwrap_or(&all).iter().map(|&d| f::existing_dim("gradient", input, d)).collect()
}

fn as_many(given: usize, dims: usize) -> Result<()> {
    if given == dims {
        Ok(())
    } else {
        Err(Error::value("gradient", "spacing", format!("{given} of them"), format!("{dims}, one a dimension")))
    }
}

/// The same distance between all samples.
fn steps(input: &Tensor, axis: usize, spacing: f64) -> Result<Tensor> {
    let count = input.dims()[axis].saturating_sub(1);
    Tensor::full_scalar(spacing.into(), count, f::floating(input)?.dtype(), input.device())
}

/// The slopes along dimensions, by the distances between neighbours along each, which may all be `even`.
#[track_caller]
fn slopes(
    input: &Tensor,
    dims: &[usize],
    edge_order: i64,
    even: bool,
    steps: impl Fn(usize, usize) -> Result<Tensor>,
) -> Result<Vec<Tensor>> {
    ensure(matches!(edge_order, 1 | 2), || Error::value("gradient", "edge_order", edge_order, "1 or 2"))?;
    let least = edge_order as usize + 1;
    if let Some(&axis) = dims.iter().find(|&&axis| input.dims()[axis] < least) {
        let accepted = format!("at least {least} samples along dim {axis}");
        return Err(wrong_shape("gradient", "input", input.shape(), accepted));
    }
    let x = f::floating(input)?;
    dims.iter().enumerate().map(|(k, &axis)| slope(&x, axis, &steps(k, axis)?, even, edge_order == 2)).collect()
}

/// Source: Fornberg, "Generation of Finite Difference Formulas on Arbitrarily Spaced Grids" (1988), for two and three points.
fn slope(x: &Tensor, axis: usize, steps: &Tensor, even: bool, from_two: bool) -> Result<Tensor> {
    let n = x.dims()[axis];
    let mut along = vec![1; x.rank()];
    along[axis] = n - 1;
    let steps = steps.reshape(along)?;
    let secants = x.narrow(axis, 1, n - 1)?.sub(&x.narrow(axis, 0, n - 1)?)?.broadcast_div(&steps)?;
    // Beyond the last secant the line of slopes goes on.
    let edge = |near: usize, next: usize| {
        let secant = secants.narrow(axis, near, 1)?;
        if !from_two {
            return Ok(secant);
        }
        let (a, b) = (steps.narrow(axis, near, 1)?, steps.narrow(axis, next, 1)?);
        let bend = secants.narrow(axis, next, 1)?.sub(&secant)?.broadcast_mul(&a)?.broadcast_div(&a.add(&b)?)?;
        secant.sub(&bend)
    };
    let first = edge(0, 1)?;
    let last = edge(n - 2, n.saturating_sub(3))?;
    if n == 2 {
        return f::cat(&[first, last], axis as i64);
    }
    // The slope at a point is that of the secants beside it, weighted by each other's length; of even ones without the point itself, which may be NaN.
    let beside = |t: &Tensor, k: usize| t.narrow(axis, k, n - 2);
    let (left, right) = (beside(&steps, 0)?, beside(&steps, 1)?);
    let rise = if even {
        beside(x, 2)?.sub(&beside(x, 0)?)?
    } else {
        beside(&secants, 0)?.broadcast_mul(&right)?.add(&beside(&secants, 1)?.broadcast_mul(&left)?)?
    };
    f::cat(&[first, rise.broadcast_div(&left.add(&right)?)?, last], axis as i64)
}
