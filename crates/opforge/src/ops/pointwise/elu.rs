//! `elu(x) = x` where x is positive, else `alpha (exp(x) - 1)`.
//!
//! Source: Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep Network Learning by Exponential Linear Units" (2015).

use crate::ops::prelude::*;

/// The tile function of [`elu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Elu {
    /// Minus the limit at minus infinity.
    pub alpha: Number,
}

impl UnaryFn for Elu {
    const PICOSECONDS: usize = 250;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let bent = V::splat(self.alpha.to_f64()) * math::exp_m1(x);
        V::select(x.le(V::splat(0.0)), bent, x)
    }
}

impl Unary for Elu {
    const NAME: &'static str = "elu";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        // No larger than 0, where the exponential would overflow in the part that is not chosen.
        let bent = x.minimum(0.0)?.exp()?.affine(self.alpha.to_f64(), 0.0)?.mul(&grad)?;
        x.le(0.0)?.where_cond(&bent, &grad)
    }
}

/// `x` where x is positive, else `alpha * (exp(x) - 1)`, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[2f32, 0.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::elu(&x, 1.0)?.to_vec1::<f32>()?, [2.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(alpha = 1.0, out)]
#[python(nn, inplace)]
#[operator(DTypes::FLOATS, samples, Elu)]
pub fn elu(input: &Tensor, alpha: f64) -> Result<Tensor> {
    unary_to(Elu { alpha: alpha.into() }, input, out)
}

impl Tensor {
    /// `x` where x is positive, else `alpha * (exp(x) - 1)`: see [`elu`].
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Result<Tensor> {
        elu(self, alpha)
    }
}

fn samples() -> Vec<Sample> {
    unary_samples(Elu { alpha: 1.5.into() }, -4.0..4.0, |x| if x > 0.0 { x } else { 1.5 * x.exp_m1() })
}
