//! `acos(x)`: the arc cosine.

use crate::ops::prelude::*;

/// The tile function of [`acos`](fn@acos).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Acos;

impl UnaryFn for Acos {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::acos(x)
    }
}

impl Unary for Acos {
    const NAME: &'static str = "acos";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(-1.0, 1.0)?.sqrt()?)?.neg()
    }
}

/// The arc cosine in radians, element by element; NaN outside of -1 to 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::acos(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn acos(input: &Tensor) -> Result<Tensor> {
    unary_float(Acos, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Acos::NAME, function: &acos::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Acos, -0.9..0.9, f64::acos)
}
