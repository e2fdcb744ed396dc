//! `expm1(x) = e^x - 1`.

use crate::ops::prelude::*;

/// The tile function of [`expm1`](fn@expm1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Expm1;

impl UnaryFn for Expm1 {
    const PICOSECONDS: usize = 150;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::exp_m1(x)
    }
}

impl Unary for Expm1 {
    const NAME: &'static str = "expm1";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.affine(1.0, 1.0)?)
    }
}

/// `e^x - 1`, element by element, precise near 0.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1e-6], &Device::Cpu)?;
/// assert_eq!(opforge::functional::expm1(&x)?.to_vec1::<f32>()?, [0.0, 1.0000005e-6]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place, special)]
pub fn expm1(input: &Tensor) -> Result<Tensor> {
    unary_float(Expm1, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Expm1::NAME, function: &expm1::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Expm1, -3.0..3.0, f64::exp_m1)
}
