//! `log(x)`: the natural logarithm.

use crate::functional as f;
use crate::ops::prelude::*;

/// The tile function of [`log`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Log;

impl UnaryFn for Log {
    const PICOSECONDS: usize = 200;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log(x)
    }
}

impl Unary for Log {
    const NAME: &'static str = "log";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.div(&ctx.input(0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        f::complex(&input.abs()?.log()?, &f::angle(input)?)
    }
}

/// The natural logarithm, element by element. Negative numbers give NaN, 0 gives minus infinity.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::log(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn log(input: &Tensor) -> Result<Tensor> {
    unary_float(Log, input)
}

impl Tensor {
    /// The natural logarithm: see [`log`].
    #[track_caller]
    pub fn log(&self) -> Result<Tensor> {
        unary(Log, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Log::NAME, function: &log::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Log, 0.1..5.0, f64::ln)
}
