//! `leaky_relu(x)`: `x` where positive, else a small multiple of it.

use crate::ops::prelude::*;

/// The tile function of [`leaky_relu`](fn@leaky_relu).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct LeakyRelu {
    /// The slope for negative numbers.
    pub slope: Number,
}

impl UnaryFn for LeakyRelu {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        V::select(x.gt(V::splat(0.0)), x, x * V::splat(self.slope.to_f64()))
    }
}

impl Unary for LeakyRelu {
    const NAME: &'static str = "leaky_relu";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        x.gt(0.0)?.where_cond(&grad, &grad.affine(self.slope.to_f64(), 0.0)?)
    }
}

/// `x` where it is positive, else `negative_slope * x`.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-2f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::leaky_relu(&x, 0.5)?.to_vec1::<f32>()?, [-1.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(negative_slope = 0.01, out)]
#[python(nn, inplace)]
#[operator(DTypes::FLOATS, samples, LeakyRelu)]
pub fn leaky_relu(input: &Tensor, negative_slope: f64) -> Result<Tensor> {
    unary_float(LeakyRelu { slope: negative_slope.into() }, input, out)
}

fn samples() -> Vec<Sample> {
    unary_samples_with(LeakyRelu { slope: 0.25.into() }, -3.0..3.0, |x: f64| if x > 0.0 { x } else { 0.25 * x })
}
