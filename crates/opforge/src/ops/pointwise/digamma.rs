//! `digamma(x)`: the slope of `lgamma`.

use crate::ops::prelude::*;

/// The tile function of [`digamma`](fn@digamma).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digamma;

impl UnaryFn for Digamma {
    const PICOSECONDS: usize = 20000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::digamma(x)
    }
}

impl Unary for Digamma {
    const NAME: &'static str = "digamma";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::polygamma::polygamma(1, &ctx.input(0)?)?)
    }
}

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
#[function]
#[python(torch, method, in_place, special)]
pub fn digamma(input: &Tensor) -> Result<Tensor> {
    unary_float(Digamma, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Digamma::NAME, function: &digamma::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Digamma, 2.0..5.0, |x| (0..60).map(|k| -1.0 / (x + f64::from(k))).sum::<f64>() + asymptotic(x + 60.0))
}

/// The first terms of the series for large arguments.
fn asymptotic(x: f64) -> f64 {
    if x.is_finite() {
        x.ln() - 0.5 / x - 1.0 / (12.0 * x.powi(2)) + 1.0 / (120.0 * x.powi(4)) - 1.0 / (252.0 * x.powi(6))
    } else {
        x.max(f64::NEG_INFINITY).ln()
    }
}
