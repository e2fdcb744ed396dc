//! `copysign(a, b)`: the magnitude of `a` with the sign of `b`.

use crate::ops::prelude::*;

/// The tile function of [`copysign`](fn@copysign).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Copysign;

impl BinaryFn for Copysign {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a.copysign(b)
    }
}

impl Binary for Copysign {
    const NAME: &'static str = "copysign";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => {
                let (a, y) = (pair.lhs()?, pair.output()?);
                let same = crate::functional::sgn(&a)?.broadcast_mul(&crate::functional::sgn(&y)?)?;
                pair.grad()?.mul(&same)
            }
            Side::Right => pair.grad()?.zeros_like(),
        }
    }
}

/// The magnitude of `input` with the sign of `other`.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, -2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::copysign((&x).into(), (-1.0).into())?.to_vec1::<f32>()?, [-1.0, -2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, Copysign)]
pub fn copysign(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Copysign, input, other, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Copysign, 0.5..2.0, 0.5..2.0, f64::copysign)
}
