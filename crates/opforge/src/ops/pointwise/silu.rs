//! `silu(x)`: `x * sigmoid(x)`.

use crate::functional as f;
use crate::ops::prelude::*;

/// The tile function of [`silu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Silu;

impl UnaryFn for Silu {
    const PICOSECONDS: usize = 250;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::silu(x)
    }
}

impl Unary for Silu {
    const NAME: &'static str = "silu";
    const FUSED: bool = true;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let x = ctx.input(0)?;
        let s = x.sigmoid()?;
        let slope = s.mul(&x.mul(&s.affine(-1.0, 1.0)?)?.affine(1.0, 1.0)?)?;
        ctx.grad(0)?.mul(&slope)
    }

    #[inline(always)]
    fn slope<V: Float>(self, x: V) -> V {
        let s = math::sigmoid(x);
        // x s (1 - s) is inf * 0 at infinite x; its limit is 0.
        let bend = s * (V::splat(1.0) - s);
        s + V::select(bend.eq(V::splat(0.0)), bend, x * bend)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        f::mul(input.into(), (&f::sigmoid(input)?).into())
    }
}

/// `x * sigmoid(x)`, element by element. Source: Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016); there named SiLU.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::silu(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(nn, inplace)]
#[operator(DTypes::FLOATS, samples, Silu)]
pub fn silu(input: &Tensor) -> Result<Tensor> {
    unary_to(Silu, input, out)
}

impl Tensor {
    /// `x * sigmoid(x)`: see [`silu`].
    #[track_caller]
    pub fn silu(&self) -> Result<Tensor> {
        silu(self)
    }
}

fn samples() -> Vec<Sample> {
    unary_samples(Silu, -4.0..4.0, |x| x / (1.0 + (-x).exp()))
}
