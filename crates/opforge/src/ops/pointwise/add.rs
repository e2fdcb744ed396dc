//! `add(a, b)`: `a + b`.

use crate::functional::{self as f, Plus, binary_scaled};
use crate::ops::prelude::*;

/// The tile function of [`add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Add;

impl BinaryFn for Add {
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        a | b
    }
}

impl Binary for Add {
    const NAME: &'static str = "add";
    const LINEAR: Linearity = Linearity::Jointly;
    const OF_NUMBERS: bool = true;
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => pair.grad(),
            Side::Right => pair.grad(),
        }
    }

    fn by_parts(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        f::of_both_parts(a, b, Tensor::broadcast_add)
    }
}

/// `input + alpha * other`, element by element. Integers wrap; of truth values, the result is "or".
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, numbers that the dtype cannot hold, and a broken `alpha` of integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::add((&x).into(), 2.0.into(), 1i64.into())?.to_vec1::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, alpha = Scalar::Int(1), out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, Add, Plus<false>)]
pub fn add(input: Operand, other: Operand, alpha: Scalar) -> Result<Tensor> {
    binary_scaled::<_, false>(Add, input, other, alpha, out)
}

impl Tensor {
    /// `a + b` of equal shapes and dtypes: see [`add`].
    #[track_caller]
    pub fn add(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Add, self.into(), rhs.into(), Rules::SAME)
    }

    /// `a + b` of shapes broadcast to each other: see [`add`].
    #[track_caller]
    pub fn broadcast_add(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Add, self.into(), rhs.into(), Rules::BROADCAST)
    }

    /// `a + b` in place: this tensor is replaced by the result. The other broadcasts to it.
    ///
    /// # Errors
    /// Also when this is a leaf that needs a gradient, or its memory overlaps itself or the other's.
    #[track_caller]
    pub fn add_(&self, rhs: &Tensor) -> Result<()> {
        dispatch_into(&BinaryOp(Add), &[self, rhs], &[self])
    }
}

fn samples() -> Vec<Sample> {
    let mut samples = binary_samples(Add, -2.0..2.0, -2.0..2.0, |a, b| a + b);
    let scaled = BinaryOp(Plus::<false> { factor: Scalar::Int(2).into() });
    samples.extend(pair_samples(scaled, &(-2.0..2.0), &(-2.0..2.0), |a, b| a + 2.0 * b));
    samples
}
