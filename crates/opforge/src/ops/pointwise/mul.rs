//! `mul(a, b)`: `a * b`.

use crate::functional::{Parts, conj};
use crate::ops::prelude::*;

/// The tile function of [`mul`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Mul;

impl BinaryFn for Mul {
    const INT: bool = true;
    const WIDE_NUMBERS: bool = true;
    const BOOL: bool = true;
    const COMPLEX: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a * b
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.wrapping_mul(b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        a & b
    }
    #[inline(always)]
    fn complex<V: Float>(self, [a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
        [a * c - b * d, a * d + b * c]
    }
}

impl Binary for Mul {
    const NAME: &'static str = "mul";
    const LINEAR: Linearity = Linearity::InEach;
    const OF_NUMBERS: bool = true;
    const READS: [Saves; 2] = [Saves::inputs([1]), Saves::inputs([0])];

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let grad = pair.grad()?;
        match (side, pair.number(side.other())) {
            (_, Some(number)) => binary(Mul, (&grad).into(), number.into(), Rules::BROADCAST),
            (Side::Left, None) => grad.broadcast_mul(&conj(&pair.rhs()?)?),
            (Side::Right, None) => grad.broadcast_mul(&conj(&pair.lhs()?)?),
        }
    }

    fn by_parts(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Parts::of(a)?.mul(&Parts::of(b)?)?.join()
    }
}

/// `a * b`, element by element. Integers wrap; of truth values, the result is "and".
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and numbers that the dtype cannot hold.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::mul((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::COMPUTED, samples, Mul)]
pub fn mul(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Mul, input, other, Rules::TORCH, out)
}

impl Tensor {
    /// `a * b` of equal shapes and dtypes: see [`mul`].
    #[track_caller]
    pub fn mul(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Mul, self.into(), rhs.into(), Rules::SAME)
    }

    /// `a * b` of shapes broadcast to each other: see [`mul`].
    #[track_caller]
    pub fn broadcast_mul(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Mul, self.into(), rhs.into(), Rules::BROADCAST)
    }

    /// `a * b` in place: this tensor is replaced by the result. The other broadcasts to it.
    ///
    /// # Errors
    /// Also when this is a leaf that needs a gradient, or its memory overlaps itself or the other's.
    #[track_caller]
    pub fn mul_(&self, rhs: &Tensor) -> Result<()> {
        dispatch_into(&BinaryOp(Mul), &[self, rhs], &[self])
    }
}

fn samples() -> Vec<Sample> {
    binary_samples(Mul, -2.0..2.0, -2.0..2.0, |a, b| a * b)
}
