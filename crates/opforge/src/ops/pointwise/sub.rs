//! `sub(a, b)`: `a - b`.

use crate::functional::{self as f, Plus, binary_scaled};
use crate::ops::prelude::*;

/// The tile function of [`sub`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Sub;

impl BinaryFn for Sub {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a - b
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.wrapping_sub(b)
    }
}

impl Binary for Sub {
    const NAME: &'static str = "sub";
    const LINEAR: Linearity = Linearity::Jointly;
    const OF_NUMBERS: bool = true;
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => pair.grad(),
            Side::Right => pair.grad()?.neg(),
        }
    }

    fn by_parts(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        f::of_both_parts(a, b, Tensor::broadcast_sub)
    }
}

/// `input - alpha * other`, element by element. Integers wrap.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, numbers that the dtype cannot hold, and a broken `alpha` of integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sub((&x).into(), 2.0.into(), 1i64.into())?.to_vec1::<f32>()?, [-1.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, alpha = Scalar::Int(1), out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, Sub, Plus<true>)]
pub fn sub(input: Operand, other: Operand, alpha: Scalar) -> Result<Tensor> {
    binary_scaled::<_, true>(Sub, input, other, alpha, out)
}

impl Tensor {
    /// `a - b` of equal shapes and dtypes: see [`sub`].
    #[track_caller]
    pub fn sub(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Sub, self.into(), rhs.into(), Rules::SAME)
    }

    /// `a - b` of shapes broadcast to each other: see [`sub`].
    #[track_caller]
    pub fn broadcast_sub(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Sub, self.into(), rhs.into(), Rules::BROADCAST)
    }

    /// `a - b` in place: this tensor is replaced by the result. The other broadcasts to it.
    ///
    /// # Errors
    /// Also when this is a leaf that needs a gradient, or its memory overlaps itself or the other's.
    #[track_caller]
    pub fn sub_(&self, rhs: &Tensor) -> Result<()> {
        dispatch_into(&BinaryOp(Sub), &[self, rhs], &[self])
    }
}

fn samples() -> Vec<Sample> {
    let mut samples = binary_samples(Sub, -2.0..2.0, -2.0..2.0, |a, b| a - b);
    let scaled = BinaryOp(Plus::<true> { factor: Scalar::Int(-2).into() });
    samples.extend(pair_samples(scaled, &(-2.0..2.0), &(-2.0..2.0), |a, b| a - 2.0 * b));
    samples
}
