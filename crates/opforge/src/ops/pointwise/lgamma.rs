//! `lgamma(x)`: the logarithm of the magnitude of the gamma function.

use crate::ops::prelude::*;

/// The tile function of [`lgamma`](fn@lgamma).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lgamma;

impl UnaryFn for Lgamma {
    const PICOSECONDS: usize = 20000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::lgamma(x)
    }
}

impl Unary for Lgamma {
    const NAME: &'static str = "lgamma";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::digamma::digamma(&ctx.input(0)?)?)
    }
}

/// The logarithm of the magnitude of the gamma function, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::lgamma(&x)?.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn lgamma(input: &Tensor) -> Result<Tensor> {
    unary_float(Lgamma, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Lgamma::NAME, function: &lgamma::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Lgamma, 0.3..5.0, libm::lgamma)
}
