//! `heaviside(a, b)`: 0 for negative `a`, 1 for positive, `b` at 0.

use crate::ops::prelude::*;

/// The tile function of [`heaviside`](fn@heaviside).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Heaviside;

impl BinaryFn for Heaviside {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        let step = V::select(a.lt(zero), zero, V::select(a.gt(zero), one, b));
        V::select(a.is_nan(), zero, step)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        let (zero, one) = (I::from_i64(0), I::from_i64(1));
        I::select(a.eq(zero), b, I::select(a.lt(zero), zero, one))
    }
}

impl Binary for Heaviside {
    const NAME: &'static str = "heaviside";
    const FLAT: bool = true;
}

/// The step function: 0 where `input` is negative, 1 where it is positive, `values` where it is 0.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-1f32, 0.0, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::heaviside((&x).into(), 0.5.into())?.to_vec1::<f32>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, Heaviside)]
pub fn heaviside(input: Operand, values: Operand) -> Result<Tensor> {
    let is_truth = |operand: &Operand| match operand {
        Operand::Tensor(tensor) => tensor.dtype() == DType::Bool,
        Operand::Scalar(scalar) => matches!(scalar, Scalar::Bool(_)),
    };
    if is_truth(&input) && is_truth(&values) {
        return crate::functional::logical_or(input, values);
    }
    binary_to(Heaviside, input, values, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Heaviside, -2.0..2.0, -1.5..2.5, |a, b| if a == 0.0 { b } else { f64::from(a > 0.0) })
}
