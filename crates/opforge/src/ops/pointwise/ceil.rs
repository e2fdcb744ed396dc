//! `ceil(x)`: the least integer not below x.

use crate::ops::prelude::*;

/// The least integer not below x, element by element. The gradient is 0.
///
/// Takes a tensor of any numeric dtype of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.5f32, -1.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ceil(&x)?.to_vec1::<f32>()?, [2.0, -1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::ceil)]
#[python(torch, method, in_place)]
impl Unary for Ceil {
    const REPEATS: Repeats = Repeats::Same;
    const INT: bool = true;
    const FLAT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.ceil()
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x
    }
}

impl Tensor {
    /// The least integer not below x, outside of the autograd graph; [`ceil`] is within, with a gradient of 0.
    #[track_caller]
    pub fn ceil(&self) -> Result<Tensor> {
        ceil(&self.unrecorded())
    }
}
