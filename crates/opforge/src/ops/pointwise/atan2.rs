//! `atan2(a, b)`: the angle of the point `(b, a)`.

use crate::ops::prelude::*;

/// The tile function of [`atan2`](fn@atan2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Atan2;

impl BinaryFn for Atan2 {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::atan2(a, b)
    }
}

impl Binary for Atan2 {
    const NAME: &'static str = "atan2";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (a, b) = (pair.lhs()?, pair.rhs()?);
        let square = a.sqr()?.broadcast_add(&b.sqr()?)?;
        let slope = pair.grad()?.div(&square)?;
        // The origin has no angle; its gradient is taken to be 0.
        let slope = square.eq(0.0)?.where_cond(&slope.zeros_like()?, &slope)?;
        match side {
            Side::Left => slope.broadcast_mul(&b),
            Side::Right => slope.broadcast_mul(&a)?.neg(),
        }
    }
}

/// The angle, in radians, of the point with ordinate `input` and abscissa `other`.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::atan2((&x).into(), 1.0.into())?.to_vec1::<f32>()?, [0.0, std::f32::consts::FRAC_PI_4]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, Atan2)]
pub fn atan2(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Atan2, input, other, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Atan2, -2.0..2.0, 0.5..2.0, f64::atan2)
}
