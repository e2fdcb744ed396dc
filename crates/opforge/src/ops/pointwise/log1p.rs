//! `log1p(x) = log(1 + x)`.

use crate::ops::prelude::*;

/// The tile function of [`log1p`](fn@log1p).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Log1p;

impl UnaryFn for Log1p {
    const PICOSECONDS: usize = 200;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log_1p(x)
    }
}

impl Unary for Log1p {
    const NAME: &'static str = "log1p";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.affine(1.0, 1.0)?)
    }
}

/// `log(1 + x)`, element by element, precise near 0.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e-6], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log1p(&x)?.to_vec1::<f32>()?, [0.0, 9.999995e-7]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place, special)]
pub fn log1p(input: &Tensor) -> Result<Tensor> {
    unary_float(Log1p, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Log1p::NAME, function: &log1p::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Log1p, -0.8..4.0, f64::ln_1p)
}
