//! `polygamma(n, x)`: the derivatives of `digamma`.

use crate::ops::prelude::*;

/// The tile function of [`polygamma`](fn@polygamma).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Polygamma {
    /// The order of the derivative.
    pub n: u32,
}

impl UnaryFn for Polygamma {
    const PICOSECONDS: usize = 40_000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::polygamma(self.n, x)
    }
}

impl Unary for Polygamma {
    const NAME: &'static str = "polygamma";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let slope = unary(Polygamma { n: self.n + 1 }, &ctx.input(0)?)?;
        ctx.grad(0)?.mul(&slope)
    }
}

/// The derivative of order `n` of [`digamma`](fn@crate::functional::digamma), element by element.
///
/// # Errors
/// For an order that is negative or above 100.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::polygamma(1, &x)?.to_vec1::<f32>()?, [1.644_934_1]); // pi^2 / 6
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, special)]
#[operator(DTypes::FLOATS, samples, Polygamma)]
pub fn polygamma(n: i64, input: &Tensor) -> Result<Tensor> {
    match u32::try_from(n) {
        Ok(n) if n <= 100 => unary_float(Polygamma { n }, input, None),
        _ => Err(Error::value(OP, "n", n, "an order from 0 to 100")),
    }
}

fn samples() -> Vec<Sample> {
    // The sum of 2 / (x + k)^3, and what the rest tends to.
    unary_samples(Polygamma { n: 2 }, 0.5..4.0, |x| {
        if x == f64::NEG_INFINITY {
            return x;
        }
        let rest = x + 60.0;
        let sum: f64 = (0..60).rev().map(|k| -2.0 / (x + f64::from(k)).powi(3)).sum();
        let tail = 1.0 / rest.powi(2) + 1.0 / rest.powi(3) + 0.5 / rest.powi(4) - 1.0 / (6.0 * rest.powi(6));
        sum - tail
    })
}
