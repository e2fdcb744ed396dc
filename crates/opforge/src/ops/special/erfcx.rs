//! `erfcx(x) = exp(x^2) erfc(x)`.

use crate::ops::prelude::*;

/// The tile function of [`erfcx`](fn@erfcx).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Erfcx;

impl UnaryFn for Erfcx {
    const PICOSECONDS: usize = 30000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::erfcx(x)
    }
}

impl Unary for Erfcx {
    const NAME: &'static str = "erfcx";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // 2 x erfcx(x) - 2 / sqrt(pi).
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        ctx.grad(0)?.mul(&x.mul(&y)?.affine(2.0, -std::f64::consts::FRAC_2_SQRT_PI)?)
    }
}

/// `exp(x^2) erfc(x)`, which does not underflow, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::erfcx(&x)?.to_vec1::<f32>()?, [1.0, 0.427_583_58]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(special)]
pub fn erfcx(input: &Tensor) -> Result<Tensor> {
    unary_float(Erfcx, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Erfcx::NAME, function: &erfcx::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Erfcx, -1.5..3.0, |x| if x == f64::INFINITY { 0.0 } else { (x * x).exp() * libm::erfc(x) })
}
