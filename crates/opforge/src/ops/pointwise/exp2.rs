//! `exp2(x) = 2^x`.

use crate::ops::prelude::*;

/// The tile function of [`exp2`](fn@exp2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Exp2;

impl UnaryFn for Exp2 {
    const PICOSECONDS: usize = 150;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::exp2(x)
    }
}

impl Unary for Exp2 {
    const NAME: &'static str = "exp2";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.affine(std::f64::consts::LN_2, 0.0)?)
    }
}

/// 2 to the power `x`, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::exp2(&x)?.to_vec1::<f32>()?, [1.0, 8.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place, special)]
pub fn exp2(input: &Tensor) -> Result<Tensor> {
    unary_float(Exp2, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Exp2::NAME, function: &exp2::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Exp2, -3.0..3.0, f64::exp2)
}
