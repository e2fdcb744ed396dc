//! `isnan(x)`: whether x is not a number.

use crate::functional::Parts;
use crate::ops::prelude::*;

/// The tile function of [`isnan`](fn@isnan).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Isnan;

impl TestFn for Isnan {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.is_nan()
    }
    #[inline(always)]
    fn int<I: Int>(self, _: I) -> I::Mask {
        I::truth(false)
    }
}

impl Test for Isnan {
    const NAME: &'static str = "isnan";
}

const OPERATOR: TestOp<Isnan> = TestOp { f: Isnan, truth: Rules::TORCH.truth };

/// Whether each element is NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[f32::NAN, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::isnan(&x)?.to_vec1::<bool>()?, [true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Isnan, gradient = false)]
pub fn isnan(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return Parts::of(&input.detach())?.is_nan();
    }
    if input.dtype().is_storage_only() {
        return isnan(&input.detach().to_dtype(DType::F32)?);
    }
    dispatch1(&OPERATOR, &[input])
}

fn samples() -> Vec<Sample> {
    test_samples(OPERATOR, f64::is_nan)
}
