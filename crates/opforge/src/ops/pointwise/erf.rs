//! `erf(x)`: the error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x.

use crate::ops::prelude::*;

/// The tile function of [`erf`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Erf;

impl UnaryFn for Erf {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::erf(x)
    }
}

impl Unary for Erf {
    const NAME: &'static str = "erf";
    const SAVES: Saves = Saves::INPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let slope = ctx.input(0)?.sqr()?.neg()?.exp()?.affine(std::f64::consts::FRAC_2_SQRT_PI, 0.0)?;
        ctx.grad(0)?.mul(&slope)
    }
}

/// The error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::erf(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place, special)]
pub fn erf(input: &Tensor) -> Result<Tensor> {
    unary_float(Erf, input)
}

impl Tensor {
    /// The error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x: see [`erf`].
    #[track_caller]
    pub fn erf(&self) -> Result<Tensor> {
        unary(Erf, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Erf::NAME, function: &erf::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Erf, -3.0..3.0, libm::erf)
}
