//! `atanh(x)`: the inverse of the hyperbolic tangent.

use crate::ops::prelude::*;

/// The tile function of [`atanh`](fn@atanh).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Atanh;

impl UnaryFn for Atanh {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::atanh(x)
    }
}

impl Unary for Atanh {
    const NAME: &'static str = "atanh";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(-1.0, 1.0)?)
    }
}

/// The inverse of the hyperbolic tangent, element by element; NaN outside of -1 to 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::atanh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn atanh(input: &Tensor) -> Result<Tensor> {
    unary_float(Atanh, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Atanh::NAME, function: &atanh::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Atanh, -0.9..0.9, libm::atanh)
}
