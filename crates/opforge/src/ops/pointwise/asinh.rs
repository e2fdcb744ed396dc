//! `asinh(x)`: the inverse of the hyperbolic sine.

use crate::ops::prelude::*;

/// The tile function of [`asinh`](fn@asinh).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asinh;

impl UnaryFn for Asinh {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::asinh(x)
    }
}

impl Unary for Asinh {
    const NAME: &'static str = "asinh";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(1.0, 1.0)?.sqrt()?)
    }
}

/// The inverse of the hyperbolic sine, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::asinh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn asinh(input: &Tensor) -> Result<Tensor> {
    unary_float(Asinh, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Asinh::NAME, function: &asinh::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Asinh, -3.0..3.0, libm::asinh)
}
