//! `trunc(x)`: rounded towards zero.

use crate::ops::prelude::*;

/// The tile function of [`trunc`](fn@trunc).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trunc;

impl UnaryFn for Trunc {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.trunc()
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x
    }
}

impl Unary for Trunc {
    const NAME: &'static str = "trunc";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.zeros_like()
    }
}

/// Rounded towards zero, element by element. The gradient is 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.7f32, -1.7], &Device::Cpu)?;
/// assert_eq!(opforge::functional::trunc(&x)?.to_vec1::<f32>()?, [1.0, -1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn trunc(input: &Tensor) -> Result<Tensor> {
    unary(Trunc, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Trunc::NAME, function: &trunc::FUNCTION, dtypes: DTypes::NUMERIC, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Trunc, -3.0..3.0, f64::trunc).into_iter().map(Sample::rough).collect()
}
