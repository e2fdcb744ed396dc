//! `fmin(a, b)`: the lesser, numbers before NaN.

use crate::ops::extreme::of_number;
use crate::ops::prelude::*;

/// The tile function of [`fmin`](fn@fmin).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fmin;

impl BinaryFn for Fmin {
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let y = V::select(b.is_nan(), a, a.min(b));
        V::select(a.is_nan(), b, y)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.lesser(b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        a & b
    }
}

impl Binary for Fmin {
    const NAME: &'static str = "fmin";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        of_number(pair, side, super::le::Le)
    }
}

/// The lesser of both, element by element; NaN only where both are.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, f32::NAN], &Device::Cpu)?;
/// assert_eq!(opforge::functional::fmin((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples)]
pub fn fmin(input: Operand, other: Operand) -> Result<Tensor> {
    binary(Fmin, input, other, Rules::TORCH)
}

fn samples() -> Vec<Sample> {
    binary_samples(Fmin, -2.0..2.0, -1.5..2.5, f64::min)
}
