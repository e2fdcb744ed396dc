//! `log2(x)`: the logarithm to base 2.

use crate::functional::{PER_OCTAVE, by_parts};
use crate::ops::prelude::*;

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
#[unary(samples = 0.1..5.0, reference = f64::log2)]
#[python(torch, method, in_place)]
impl Unary for Log2 {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log2(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.affine(std::f64::consts::LN_2, 0.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.log(PER_OCTAVE))
    }
}
