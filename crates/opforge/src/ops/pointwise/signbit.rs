//! `signbit(x)`: whether the sign bit is set.

use crate::ops::prelude::*;

/// The tile function of [`signbit`](fn@signbit).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Signbit;

impl TestFn for Signbit {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        V::splat(1.0).copysign(x).lt(V::splat(0.0))
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I::Mask {
        x.lt(I::from_i64(0))
    }
}

impl Test for Signbit {
    const NAME: &'static str = "signbit";
}

const OPERATOR: TestOp<Signbit> = TestOp { f: Signbit, truth: Rules::TORCH.truth };

/// Whether the sign bit is set: of negative numbers, and of -0 and some NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::signbit(&x)?.to_vec1::<bool>()?, [true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method)]
#[operator(DTypes::REAL, samples, Signbit, gradient = false)]
pub fn signbit(input: &Tensor) -> Result<Tensor> {
    dispatch1(&OPERATOR, &[input])
}

fn samples() -> Vec<Sample> {
    test_samples(OPERATOR, f64::is_sign_negative)
}
