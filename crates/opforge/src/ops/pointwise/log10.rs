//! `log10(x)`: the logarithm to base 10.

use crate::ops::prelude::*;

/// The tile function of [`log10`](fn@log10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Log10;

impl UnaryFn for Log10 {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log10(x)
    }
}

impl Unary for Log10 {
    const NAME: &'static str = "log10";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.affine(std::f64::consts::LN_10, 0.0)?)
    }
}

/// The logarithm to base 10, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 1000.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log10(&x)?.to_vec1::<f32>()?, [0.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn log10(input: &Tensor) -> Result<Tensor> {
    unary_float(Log10, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Log10::NAME, function: &log10::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Log10, 0.1..5.0, f64::log10)
}
