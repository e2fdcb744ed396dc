//! `recip(x)`: `1 / x`.

use crate::ops::prelude::*;

/// The tile function of [`recip`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Recip;

impl UnaryFn for Recip {
    const PICOSECONDS: usize = 150;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        V::splat(1.0) / x
    }
}

impl Unary for Recip {
    const NAME: &'static str = "recip";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.sqr()?)?.neg()
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        input.ones_like()?.div(input)
    }
}

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
#[function]
#[python(torch, method, in_place, name = "reciprocal")]
pub fn recip(input: &Tensor) -> Result<Tensor> {
    unary_float(Recip, input)
}

impl Tensor {
    /// `1 / x`: see [`recip`].
    #[track_caller]
    pub fn recip(&self) -> Result<Tensor> {
        unary(Recip, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Recip::NAME, function: &recip::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Recip, 0.5..3.0, f64::recip)
}
