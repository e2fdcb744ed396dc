//! `isinf(x)`: whether x is infinite.

use crate::functional::Parts;
use crate::ops::prelude::*;

/// The tile function of [`isinf`](fn@isinf).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Isinf;

impl TestFn for Isinf {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.abs().eq(V::splat(f64::INFINITY))
    }
    #[inline(always)]
    fn int<I: Int>(self, _: I) -> I::Mask {
        I::truth(false)
    }
}

impl Test for Isinf {
    const NAME: &'static str = "isinf";
}

const OPERATOR: TestOp<Isinf> = TestOp { f: Isinf, truth: Rules::TORCH.truth };

/// Whether each element is plus or minus infinity.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[f32::NEG_INFINITY, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::isinf(&x)?.to_vec1::<bool>()?, [true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Isinf, gradient = false)]
pub fn isinf(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return Parts::of(&input.detach())?.is_infinite();
    }
    dispatch1(&OPERATOR, &[input])
}

fn samples() -> Vec<Sample> {
    test_samples(OPERATOR, f64::is_infinite)
}
