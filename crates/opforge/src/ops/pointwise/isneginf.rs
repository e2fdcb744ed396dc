//! `isneginf(x)`: whether x is minus infinity.

use crate::ops::prelude::*;

/// The tile function of [`isneginf`](fn@isneginf).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Isneginf;

impl TestFn for Isneginf {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.eq(V::splat(f64::NEG_INFINITY))
    }
    #[inline(always)]
    fn int<I: Int>(self, _: I) -> I::Mask {
        I::truth(false)
    }
}

impl Test for Isneginf {
    const NAME: &'static str = "isneginf";
}

const OPERATOR: TestOp<Isneginf> = TestOp { f: Isneginf, truth: Rules::TORCH.truth };

/// Whether each element is minus infinity.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[f32::INFINITY, f32::NEG_INFINITY], &Device::Cpu)?;
/// assert_eq!(opforge::functional::isneginf(&x)?.to_vec1::<bool>()?, [false, true]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Isneginf, gradient = false)]
pub fn isneginf(input: &Tensor) -> Result<Tensor> {
    dispatch1(&OPERATOR, &[input])
}

fn samples() -> Vec<Sample> {
    test_samples(OPERATOR, |x| x == f64::NEG_INFINITY)
}
