//! `logical_not(x)`: whether x is zero.

use crate::ops::prelude::*;
/// The tile function of [`logical_not`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct LogicalNot;

impl TestFn for LogicalNot {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.eq(V::splat(0.0))
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I::Mask {
        x.eq(I::from_i64(0))
    }
}

impl Test for LogicalNot {
    const NAME: &'static str = "logical_not";
}

fn op(truth: DType) -> TestOp<LogicalNot> {
    TestOp { f: LogicalNot, truth }
}

/// Whether an element is zero, as bool.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0i64, 3], &Device::Cpu)?;
/// assert_eq!(opforge::functional::logical_not(&x)?.to_vec1::<bool>()?, [true, false]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::REAL, samples, LogicalNot, gradient = false)]
pub fn logical_not(input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return compare_to(super::eq::Eq, input.into(), 0.0.into(), Rules::TORCH, out);
    }
    dispatch_to(&op(Rules::TORCH.truth), &[input], out)
}

fn samples() -> Vec<Sample> {
    let inputs = vec![Array { content: Content::Real, ..Array::truths(&[3, 4]) }];
    vec![Sample::new(op(DType::Bool), inputs, |x| x[0].map(|x| f64::from(x == 0.0))).rough()]
}
