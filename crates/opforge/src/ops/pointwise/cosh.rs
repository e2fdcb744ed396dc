//! `cosh(x)`: the hyperbolic cosine.

use crate::ops::prelude::*;

/// The tile function of [`cosh`](fn@cosh).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cosh;

impl UnaryFn for Cosh {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::cosh(x)
    }
}

impl Unary for Cosh {
    const NAME: &'static str = "cosh";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::sinh::sinh(&ctx.input(0)?)?)
    }
}

/// The hyperbolic cosine, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cosh(&x)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn cosh(input: &Tensor) -> Result<Tensor> {
    unary_float(Cosh, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Cosh::NAME, function: &cosh::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Cosh, -2.0..2.0, f64::cosh)
}
