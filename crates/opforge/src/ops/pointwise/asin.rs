//! `asin(x)`: the arc sine.

use crate::ops::prelude::*;

/// The tile function of [`asin`](fn@asin).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asin;

impl UnaryFn for Asin {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::asin(x)
    }
}

impl Unary for Asin {
    const NAME: &'static str = "asin";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.sqr()?.affine(-1.0, 1.0)?.sqrt()?)
    }
}

/// The arc sine in radians, element by element; NaN outside of -1 to 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::asin(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn asin(input: &Tensor) -> Result<Tensor> {
    unary_float(Asin, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Asin::NAME, function: &asin::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Asin, -0.9..0.9, f64::asin)
}
