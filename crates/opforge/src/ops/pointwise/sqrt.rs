//! `sqrt(x)`: the square root.

use crate::ops::prelude::*;

/// The tile function of [`sqrt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sqrt;

impl UnaryFn for Sqrt {
    const PICOSECONDS: usize = 200;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.sqrt()
    }
}

impl Unary for Sqrt {
    const NAME: &'static str = "sqrt";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.output(0)?.affine(2.0, 0.0)?)
    }
}

/// The square root, element by element. Negative numbers give NaN.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sqrt(&x)?.to_vec1::<f32>()?, [2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn sqrt(input: &Tensor) -> Result<Tensor> {
    unary_float(Sqrt, input)
}

impl Tensor {
    /// The square root: see [`sqrt`].
    #[track_caller]
    pub fn sqrt(&self) -> Result<Tensor> {
        unary(Sqrt, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Sqrt::NAME, function: &sqrt::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Sqrt, 0.1..5.0, f64::sqrt)
}
