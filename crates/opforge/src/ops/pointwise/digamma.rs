//! `digamma(x)`: the slope of `lgamma`.

use crate::ops::prelude::*;

/// The slope of `lgamma`, element by element; NaN at negative integers.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::digamma(&x)?.to_vec1::<f32>()?, [-0.577_215_7]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 2.0..5.0, reference = reference)]
#[python(torch, method, in_place, special)]
impl Unary for Digamma {
    const PICOSECONDS: usize = 900;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::digamma(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::polygamma::polygamma(1, &ctx.input(0)?)?)
    }
}

fn reference(x: f64) -> f64 {
    (0..60).map(|k| -1.0 / (x + f64::from(k))).sum::<f64>() + asymptotic(x + 60.0)
}

/// The first terms of the series for large arguments.
fn asymptotic(x: f64) -> f64 {
    if x.is_finite() {
        x.ln() - 0.5 / x - 1.0 / (12.0 * x.powi(2)) + 1.0 / (120.0 * x.powi(4)) - 1.0 / (252.0 * x.powi(6))
    } else {
        x.max(f64::NEG_INFINITY).ln()
    }
}
