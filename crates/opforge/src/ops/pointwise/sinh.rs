//! `sinh(x)`: the hyperbolic sine.

use crate::ops::prelude::*;

/// The tile function of [`sinh`](fn@sinh).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sinh;

impl UnaryFn for Sinh {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::sinh(x)
    }
}

impl Unary for Sinh {
    const NAME: &'static str = "sinh";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::cosh::cosh(&ctx.input(0)?)?)
    }
}

/// The hyperbolic sine, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sinh(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn sinh(input: &Tensor) -> Result<Tensor> {
    unary_float(Sinh, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Sinh::NAME, function: &sinh::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Sinh, -2.0..2.0, f64::sinh)
}
