//! `huber_loss(x, y)`: half the square of small differences, and of large ones their magnitude.

use crate::functional::of_differences;
use crate::ops::prelude::*;

/// The tile function of [`huber_loss`](fn@huber_loss), of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Huber {
    /// The greatest difference that is squared.
    pub delta: Number,
    /// What the loss is multiplied by.
    pub scale: Number,
}

impl UnaryFn for Huber {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let (delta, scale) = (V::splat(self.delta.to_f64()), V::splat(self.scale.to_f64()));
        let (far, half) = (x.abs(), V::splat(0.5));
        V::select(far.gt(delta), scale * delta * (far - half * delta), scale * half * x * x)
    }
}

impl Unary for Huber {
    const NAME: &'static str = "huber_loss";
    const FUSED: bool = true;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (delta, scale) = (self.delta.to_f64(), self.scale.to_f64());
        ctx.grad(0)?.mul(&ctx.input(0)?.clamp(-delta, delta)?.affine(scale, 0.0)?)
    }

    #[inline(always)]
    fn slope<V: Float>(self, x: V) -> V {
        let delta = V::splat(self.delta.to_f64());
        x.clamp(-delta, delta) * V::splat(self.scale.to_f64())
    }
}

/// Half the square of a difference of at most `delta`; above it `delta` times the absolute difference less `delta / 2`.
///
/// # Errors
/// For a `delta` that is not positive.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[1f32, 4.0], &Device::Cpu)?, Tensor::new(&[2f32, 0.0], &Device::Cpu)?);
/// assert_eq!(f::huber_loss(&x, &y, "none", 2.0, None)?.to_vec1::<f32>()?, [0.5, 6.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(reduction = "mean", delta = 1.0, weight = None)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, Huber)]
pub fn huber_loss(
    input: &Tensor,
    target: &Tensor,
    reduction: &str,
    delta: f64,
    weight: Option<&Tensor>,
) -> Result<Tensor> {
    if delta <= 0.0 || delta.is_nan() {
        return Err(Error::value(OP, "delta", delta, "more than 0"));
    }
    of_differences(OP, Huber { delta: delta.into(), scale: 1.0.into() }, [input, target], weight, reduction)
}

fn samples() -> Vec<Sample> {
    let f = Huber { delta: 1.5.into(), scale: 2.0.into() };
    unary_samples(f, -3.0..3.0, |x: f64| if x.abs() > 1.5 { 3.0 * (x.abs() - 0.75) } else { x * x })
}
