//! `tanh(x)`: the hyperbolic tangent.

use crate::ops::prelude::*;

/// The tile function of [`tanh`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tanh;

impl UnaryFn for Tanh {
    const PICOSECONDS: usize = 250;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::tanh(x)
    }
}

impl Unary for Tanh {
    const NAME: &'static str = "tanh";
    const SAVES: Saves = Saves::OUTPUTS;
    const FUSED: bool = true;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.sqr()?.affine(-1.0, 1.0)?)
    }

    #[inline(always)]
    fn slope<V: Float>(self, y: V) -> V {
        V::splat(1.0) - y * y
    }
}

/// The hyperbolic tangent, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::tanh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place, nn)]
pub fn tanh(input: &Tensor) -> Result<Tensor> {
    unary_float(Tanh, input)
}

impl Tensor {
    /// The hyperbolic tangent: see [`tanh`].
    #[track_caller]
    pub fn tanh(&self) -> Result<Tensor> {
        unary(Tanh, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Tanh::NAME, function: &tanh::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Tanh, -3.0..3.0, f64::tanh)
}
