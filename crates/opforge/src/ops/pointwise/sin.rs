//! `sin(x)`: the sine of an angle in radians.

use crate::ops::prelude::*;

/// The tile function of [`sin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sin;

impl UnaryFn for Sin {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::sin(x)
    }
}

impl Unary for Sin {
    const NAME: &'static str = "sin";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.input(0)?.cos()?)
    }
}

/// The sine of an angle in radians, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sin(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn sin(input: &Tensor) -> Result<Tensor> {
    unary_float(Sin, input)
}

impl Tensor {
    /// The sine of an angle in radians: see [`sin`].
    #[track_caller]
    pub fn sin(&self) -> Result<Tensor> {
        unary(Sin, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Sin::NAME, function: &sin::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Sin, -4.0..4.0, f64::sin)
}
