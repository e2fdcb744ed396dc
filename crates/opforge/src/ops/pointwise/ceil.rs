//! `ceil(x)`: the least integer not below x.

use crate::ops::prelude::*;

/// The tile function of [`ceil`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ceil;

impl UnaryFn for Ceil {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.ceil()
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x
    }
}

impl Unary for Ceil {
    const NAME: &'static str = "ceil";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.zeros_like()
    }
}

/// The least integer not below x, element by element. The gradient is 0.
///
/// Takes a tensor of any numeric dtype of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.5f32, -1.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ceil(&x)?.to_vec1::<f32>()?, [2.0, -1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn ceil(input: &Tensor) -> Result<Tensor> {
    unary(Ceil, input)
}

impl Tensor {
    /// The least integer not below x, outside of the autograd graph; [`ceil`] is within, with a gradient of 0.
    #[track_caller]
    pub fn ceil(&self) -> Result<Tensor> {
        ceil(&self.unrecorded())
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Ceil::NAME, function: &ceil::FUNCTION, dtypes: DTypes::NUMERIC, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Ceil, -3.0..3.0, f64::ceil).into_iter().map(Sample::rough).collect()
}
