//! `softplus(x) = log(1 + exp(beta x)) / beta`.

use crate::ops::prelude::*;

/// The tile function of [`softplus`](fn@softplus).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Softplus {
    /// How sharp the bend is.
    pub beta: Number,
    /// From where on the result is linear.
    pub threshold: Number,
}

impl UnaryFn for Softplus {
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let (beta, scaled) = (V::splat(self.beta.to_f64()), x * V::splat(self.beta.to_f64()));
        let smooth = (scaled.max(V::splat(0.0)) + math::log_1p(math::exp(-scaled.abs()))) / beta;
        V::select(scaled.gt(V::splat(self.threshold.to_f64())), x, smooth)
    }
}

impl Unary for Softplus {
    const NAME: &'static str = "softplus";
    const FUSED: bool = true;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let scaled = ctx.input(0)?.affine(self.beta.to_f64(), 0.0)?;
        let slope = scaled.gt(self.threshold.to_f64())?.where_cond(&scaled.ones_like()?, &scaled.sigmoid()?)?;
        ctx.grad(0)?.mul(&slope)
    }

    #[inline(always)]
    fn slope<V: Float>(self, x: V) -> V {
        let scaled = x * V::splat(self.beta.to_f64());
        V::select(scaled.gt(V::splat(self.threshold.to_f64())), V::splat(1.0), math::sigmoid(scaled))
    }
}

/// `log(1 + exp(beta x)) / beta`, a smooth [`relu`](fn@crate::functional::relu); `x` itself where `beta x` is above the threshold.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[30f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::softplus(&x, 1.0, 20.0)?.to_vec1::<f32>()?, [30.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(beta = 1.0, threshold = 20.0)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, Softplus)]
pub fn softplus(input: &Tensor, beta: f64, threshold: f64) -> Result<Tensor> {
    unary_float(Softplus { beta: beta.into(), threshold: threshold.into() }, input, None)
}

fn samples() -> Vec<Sample> {
    unary_samples_with(Softplus { beta: 2.0.into(), threshold: 20.0.into() }, -3.0..3.0, |x: f64| {
        (2.0 * x).exp().ln_1p() / 2.0
    })
}
