//! `cosh(x)`: the hyperbolic cosine.

use crate::functional::{Parts, by_parts};
use crate::ops::prelude::*;

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
#[unary(samples = -2.0..2.0, reference = f64::cosh)]
#[python(torch, method, in_place)]
impl Unary for Cosh {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::cosh(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&super::sinh::sinh(&ctx.input(0)?)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        by_parts(input, Parts::cosh)
    }
}
