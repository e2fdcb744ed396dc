//! `i1(x)`: the modified Bessel function of the first kind and order 1.

use crate::ops::prelude::*;

/// The tile function of [`i1`](fn@i1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct I1;

impl UnaryFn for I1 {
    const PICOSECONDS: usize = 60000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_i1(x)
    }
}

impl Unary for I1 {
    const NAME: &'static str = "i1";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // i0(x) - i1(x) / x, and a half at 0.
        let x = ctx.input(0)?;
        let flat = x.eq(0.0)?;
        let ratio = i1(&x)?.div(&flat.where_cond(&x.ones_like()?, &x)?)?;
        let ratio = flat.where_cond(&x.ones_like()?.affine(0.5, 0.0)?, &ratio)?;
        ctx.grad(0)?.mul(&super::i0::i0(&x)?.sub(&ratio)?)
    }
}

/// The modified Bessel function of the first kind and order 1, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::i1(&x)?.to_vec1::<f32>()?, [0.0, 0.565_159_1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(special)]
pub fn i1(input: &Tensor) -> Result<Tensor> {
    unary_float(I1, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: I1::NAME, function: &i1::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(I1, 0.5..4.0, |x| if x.is_infinite() || x == 0.0 { x } else { super::i0::integral(1.0, x) })
}
