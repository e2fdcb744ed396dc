//! `log10(x)`: the logarithm to base 10.

use crate::functional::{PER_DECADE, by_parts};
use crate::ops::prelude::*;

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
#[unary(samples = 0.1..5.0, reference = f64::log10)]
#[python(torch, method, in_place)]
impl Unary for Log10 {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log10(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?.affine(std::f64::consts::LN_10, 0.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, |z| z.log(PER_DECADE))
    }
}
