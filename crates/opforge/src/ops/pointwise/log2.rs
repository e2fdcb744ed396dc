//! `log2(x)`: the logarithm to base 2.

use crate::ops::prelude::*;

/// The tile function of [`log2`](fn@log2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Log2;

impl UnaryFn for Log2 {
    const PICOSECONDS: usize = 8000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log2(x)
    }
}

impl Unary for Log2 {
    const NAME: &'static str = "log2";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.affine(std::f64::consts::LN_2, 0.0)?)
    }
}

/// The logarithm to base 2, element by element; exact for powers of 2.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 8.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log2(&x)?.to_vec1::<f32>()?, [0.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn log2(input: &Tensor) -> Result<Tensor> {
    unary_float(Log2, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Log2::NAME, function: &log2::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Log2, 0.1..5.0, f64::log2)
}
