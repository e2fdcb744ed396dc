//! `elu(x) = x` where x is positive, else `alpha (exp(x) - 1)`; and its kin, `celu` and `selu`.
//!
//! Source: Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep Network Learning by Exponential Linear Units" (2015).

use crate::ops::prelude::*;

/// The tile function of [`elu`]: `scale * x` where x is positive, else `bend * (exp(rate * x) - 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Elu {
    /// Minus the limit at minus infinity, if the rate is positive.
    pub bend: Number,
    /// The slope for positive numbers.
    pub scale: Number,
    /// How fast the exponential falls.
    pub rate: Number,
}

impl Elu {
    /// [`elu`] of this alpha.
    fn new(alpha: f64) -> Self {
        Elu { bend: alpha.into(), scale: 1.0.into(), rate: 1.0.into() }
    }
}

impl UnaryFn for Elu {
    const PICOSECONDS: usize = 150;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let (bend, rate) = (V::splat(self.bend.to_f64()), V::splat(self.rate.to_f64()));
        let scale = V::splat(self.scale.to_f64());
        V::select_rarely(
            x.le(V::splat(0.0)),
            #[inline(always)]
            || bend * math::exp_m1(x * rate),
            x * scale,
        )
    }
}

impl Unary for Elu {
    const NAME: &'static str = "elu";
    const FUSED: bool = true;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        // No larger than 0, where the exponential would overflow in the part that is not chosen.
        let power = x.minimum(0.0)?.affine(self.rate.to_f64(), 0.0)?.exp()?;
        let bent = power.affine(self.bend.to_f64() * self.rate.to_f64(), 0.0)?.mul(&grad)?;
        x.le(0.0)?.where_cond(&bent, &grad.affine(self.scale.to_f64(), 0.0)?)
    }

    #[inline(always)]
    fn slope<V: Float>(self, x: V) -> V {
        let (bend, rate) = (V::splat(self.bend.to_f64()), V::splat(self.rate.to_f64()));
        let scale = V::splat(self.scale.to_f64());
        V::select_rarely(
            x.le(V::splat(0.0)),
            #[inline(always)]
            || bend * rate * math::exp(x * rate),
            scale,
        )
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
    unary_to(Elu::new(alpha), input, out)
}

impl Tensor {
    /// `x` where x is positive, else `alpha * (exp(x) - 1)`: see [`elu`].
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Result<Tensor> {
        elu(self, alpha)
    }
}

fn samples() -> Vec<Sample> {
    let plain = unary_samples(Elu::new(1.5), -4.0..4.0, |x| if x > 0.0 { x } else { 1.5 * x.exp_m1() });
    let scaled = Elu { bend: 1.5.into(), scale: 2.0.into(), rate: 0.5.into() };
    let scaled = unary_samples(scaled, -4.0..4.0, |x| if x > 0.0 { 2.0 * x } else { 1.5 * (0.5 * x).exp_m1() });
    plain.into_iter().chain(scaled).collect()
}
