//! `recip(x)`: `1 / x`.

use crate::ops::prelude::*;

/// `1 / x`, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::recip(&x)?.to_vec1::<f32>()?, [0.25]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.5..3.0, reference = f64::recip)]
#[python(torch, method, in_place, name = "reciprocal")]
impl Unary for Recip {
    const PICOSECONDS: usize = 150;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        V::splat(1.0) / x
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.sqr()?)?.neg()
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        input.ones_like()?.div(input)
    }
}

impl Tensor {
    /// `1 / x`: see [`recip`].
    #[track_caller]
    pub fn recip(&self) -> Result<Tensor> {
        unary(Recip, self)
    }
}
