//! `isfinite(x)`: whether x is neither infinite nor NaN.

use crate::functional::Parts;
use crate::ops::prelude::*;

/// The tile function of [`isfinite`](fn@isfinite).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Isfinite;

impl TestFn for Isfinite {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.abs().lt(V::splat(f64::INFINITY))
    }
    #[inline(always)]
    fn int<I: Int>(self, _: I) -> I::Mask {
        I::truth(true)
    }
}

impl Test for Isfinite {
    const NAME: &'static str = "isfinite";
}

const OPERATOR: TestOp<Isfinite> = TestOp { f: Isfinite, truth: Rules::TORCH.truth };

/// Whether each element is neither infinite nor NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[f32::NAN, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::isfinite(&x)?.to_vec1::<bool>()?, [false, true]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Isfinite, gradient = false)]
pub fn isfinite(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return Parts::of(&input.detach())?.is_finite();
    }
    dispatch1(&OPERATOR, &[input])
}

fn samples() -> Vec<Sample> {
    test_samples(OPERATOR, f64::is_finite)
}
