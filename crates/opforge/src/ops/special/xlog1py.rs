//! `xlog1py(a, b) = a log(1 + b)`, 0 where `a` is 0.

use crate::functional::log1p;
use crate::ops::pointwise::xlogy::unless_lost;
use crate::ops::prelude::*;

/// The tile function of [`xlog1py`](fn@xlog1py).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Xlog1py;

impl BinaryFn for Xlog1py {
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let zero = V::splat(0.0);
        let product = V::select(a.eq(zero), zero, a * math::log_1p(b));
        V::select(b.is_nan(), b, product)
    }
}

impl Binary for Xlog1py {
    const NAME: &'static str = "xlog1py";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (a, b) = (pair.lhs()?, pair.rhs()?);
        match side {
            Side::Left => pair.grad()?.broadcast_mul(&unless_lost(&a, &b, -1.0, &log1p(&b)?)?),
            Side::Right => pair.grad()?.mul(&a.broadcast_div(&b.affine(1.0, 1.0)?)?),
        }
    }
}

/// `input * log(1 + other)`, element by element; 0 where `input` is 0, unless `other` is NaN.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::xlog1py((&x).into(), 0.0.into())?.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(special)]
#[operator(DTypes::FLOATS, samples, Xlog1py)]
pub fn xlog1py(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Xlog1py, input, other, None)
}

fn samples() -> Vec<Sample> {
    binary_samples(Xlog1py, 0.5..2.0, -0.5..2.0, |a, b| if a == 0.0 && !b.is_nan() { 0.0 } else { a * b.ln_1p() })
}
