//! `fmax(a, b)`: the greater, numbers before NaN.

use super::maximum::Winner;
use crate::ops::extreme::of_number;
use crate::ops::prelude::*;

/// The tile function of `fmax` if `MAX`, else of `fmin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct WinningNumber<const MAX: bool>;

impl<const MAX: bool> BinaryFn for WinningNumber<MAX> {
    const INT: bool = true;
    const BOOL: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let y = V::select(b.is_nan(), a, Winner::<MAX>.float(a, b));
        V::select(a.is_nan(), b, y)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        Winner::<MAX>.int(a, b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        Winner::<MAX>.boolean(a, b)
    }
}

impl<const MAX: bool> Binary for WinningNumber<MAX> {
    const NAME: &'static str = if MAX { "fmax" } else { "fmin" };

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        if MAX { of_number(pair, side, super::ge::Ge) } else { of_number(pair, side, super::le::Le) }
    }
}

/// The greater of both, element by element; NaN only where both are.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, f32::NAN], &Device::Cpu)?;
/// assert_eq!(opforge::functional::fmax((&x).into(), 2.0.into())?.to_vec1::<f32>()?, [2.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, WinningNumber<true>)]
pub fn fmax(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(WinningNumber::<true>, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(WinningNumber::<true>, -2.0..2.0, -1.5..2.5, f64::max)
}
