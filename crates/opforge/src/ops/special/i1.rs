//! `i1(x)`: the modified Bessel function of the first kind and order 1.

use crate::ops::prelude::*;

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
#[unary(samples = 0.5..4.0, reference = |x| if x.is_infinite() || x == 0.0 { x } else { super::i0::integral(1.0, x) })]
#[python(special)]
impl Unary for I1 {
    const PICOSECONDS: usize = 600;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_i1(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // i0(x) - i1(x) / x, and a half at 0.
        let x = ctx.input(0)?;
        let flat = near_zero(&x)?;
        let ratio = i1(&x)?.div(&flat.where_cond(&x.ones_like()?, &x)?)?;
        let ratio = flat.where_cond(&x.ones_like()?.affine(0.5, 0.0)?, &ratio)?;
        ctx.grad(0)?.mul(&super::i0::i0(&x)?.sub(&ratio)?)
    }
}

/// Where `f(x) / x` of a function with `f(0) = 0` is its slope at 0, to the dtype's precision: quotients of what is smaller have infinite derivatives.
pub(super) fn near_zero(x: &Tensor) -> Result<Tensor> {
    let epsilon = match x.dtype() {
        DType::F64 => f64::EPSILON,
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => f64::from(f32::EPSILON),
    };
    x.abs()?.le(epsilon)
}
