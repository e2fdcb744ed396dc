//! `rsqrt(x) = 1 / sqrt(x)`.

use crate::ops::prelude::*;

/// The tile function of [`rsqrt`](fn@rsqrt).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rsqrt;

impl UnaryFn for Rsqrt {
    const PICOSECONDS: usize = 200;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::rsqrt(x)
    }
}

impl Unary for Rsqrt {
    const NAME: &'static str = "rsqrt";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let y = ctx.output(0)?;
        ctx.grad(0)?.mul(&y.sqr()?.mul(&y)?.affine(-0.5, 0.0)?)
    }
}

/// `1 / sqrt(x)`, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::rsqrt(&x)?.to_vec1::<f32>()?, [1.0, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn rsqrt(input: &Tensor) -> Result<Tensor> {
    unary_float(Rsqrt, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Rsqrt::NAME, function: &rsqrt::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Rsqrt, 0.1..5.0, |x| 1.0 / x.sqrt())
}
