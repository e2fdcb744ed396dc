//! `trunc(x)`: rounded towards zero.

use crate::ops::prelude::*;

/// Rounded towards zero, element by element. The gradient is 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.7f32, -1.7], &Device::Cpu)?;
/// assert_eq!(opforge::functional::trunc(&x)?.to_vec1::<f32>()?, [1.0, -1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::trunc)]
#[python(torch, method, in_place)]
impl Unary for Trunc {
    const REPEATS: Repeats = Repeats::Same;
    const INT: bool = true;
    const FLAT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.trunc()
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x
    }
}
