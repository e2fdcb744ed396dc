//! `frac(x) = x - trunc(x)`.

use crate::ops::prelude::*;

/// The tile function of [`frac`](fn@frac).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frac;

impl UnaryFn for Frac {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x - x.trunc()
    }
}

impl Unary for Frac {
    const NAME: &'static str = "frac";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.affine(1.0, 0.0)
    }
}

/// What truncation takes away, with the sign of `x`.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.5f32, -1.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::frac(&x)?.to_vec1::<f32>()?, [0.5, -0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn frac(input: &Tensor) -> Result<Tensor> {
    unary_float(Frac, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Frac::NAME, function: &frac::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Frac, 0.1..0.9, f64::fract)
}
