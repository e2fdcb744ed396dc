//! `isposinf(x)`: whether x is infinity.

use crate::ops::prelude::*;

/// The tile function of [`isposinf`](fn@isposinf).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Isposinf;

impl TestFn for Isposinf {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.eq(V::splat(f64::INFINITY))
    }
    #[inline(always)]
    fn int<I: Int>(self, _: I) -> I::Mask {
        I::truth(false)
    }
}

impl Test for Isposinf {
    const NAME: &'static str = "isposinf";
}

const OPERATOR: TestOp<Isposinf> = TestOp { f: Isposinf, truth: Rules::TORCH.truth };

/// Whether each element is plus infinity.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[f32::INFINITY, f32::NEG_INFINITY], &Device::Cpu)?;
/// assert_eq!(opforge::functional::isposinf(&x)?.to_vec1::<bool>()?, [true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Isposinf, gradient = false)]
pub fn isposinf(input: &Tensor) -> Result<Tensor> {
    dispatch1(&OPERATOR, &[input])
}

fn samples() -> Vec<Sample> {
    test_samples(OPERATOR, |x| x == f64::INFINITY)
}
