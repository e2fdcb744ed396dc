//! `cos(x)`: the cosine of an angle in radians.

use crate::ops::prelude::*;

/// The tile function of [`cos`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cos;

impl UnaryFn for Cos {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::cos(x)
    }
}

impl Unary for Cos {
    const NAME: &'static str = "cos";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.sin()?)?.neg()
    }
}

/// The cosine of an angle in radians, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cos(&x)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn cos(input: &Tensor) -> Result<Tensor> {
    unary_float(Cos, input)
}

impl Tensor {
    /// The cosine of an angle in radians: see [`cos`].
    #[track_caller]
    pub fn cos(&self) -> Result<Tensor> {
        unary(Cos, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Cos::NAME, function: &cos::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Cos, -4.0..4.0, f64::cos)
}
