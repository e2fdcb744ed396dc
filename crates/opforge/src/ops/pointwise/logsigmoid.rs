//! `logsigmoid(x) = log(sigmoid(x))`.

use crate::ops::prelude::*;

/// The tile function of [`logsigmoid`](fn@logsigmoid).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Logsigmoid;

impl UnaryFn for Logsigmoid {
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.min(V::splat(0.0)) - math::log_1p(math::exp(-x.abs()))
    }
}

impl Unary for Logsigmoid {
    const NAME: &'static str = "logsigmoid";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.neg()?.sigmoid()?)
    }
}

/// `log(1 / (1 + exp(-x)))`, element by element, without overflow.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::logsigmoid(&x)?.to_vec1::<f32>()?, [-std::f32::consts::LN_2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(nn)]
pub fn logsigmoid(input: &Tensor) -> Result<Tensor> {
    unary_float(Logsigmoid, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Logsigmoid::NAME, function: &logsigmoid::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Logsigmoid, -4.0..4.0, |x| x.min(0.0) - (-x.abs()).exp().ln_1p())
}
