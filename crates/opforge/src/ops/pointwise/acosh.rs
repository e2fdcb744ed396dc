//! `acosh(x)`: the inverse of the hyperbolic cosine.

use crate::ops::prelude::*;

/// The tile function of [`acosh`](fn@acosh).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Acosh;

impl UnaryFn for Acosh {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::acosh(x)
    }
}

impl Unary for Acosh {
    const NAME: &'static str = "acosh";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(1.0, -1.0)?.sqrt()?)
    }
}

/// The inverse of the hyperbolic cosine, element by element; NaN below 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::acosh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn acosh(input: &Tensor) -> Result<Tensor> {
    unary_float(Acosh, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Acosh::NAME, function: &acosh::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Acosh, 1.2..4.0, libm::acosh)
}
