//! `floor(x)`: the greatest integer not above x.

use crate::ops::prelude::*;

/// The greatest integer not above x, element by element. The gradient is 0.
///
/// Takes a tensor of any numeric dtype of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.5f32, -1.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::floor(&x)?.to_vec1::<f32>()?, [1.0, -2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = f64::floor)]
#[python(torch, method, in_place)]
impl Unary for Floor {
    const REPEATS: Repeats = Repeats::Same;
    const INT: bool = true;
    const FLAT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.floor()
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x
    }
}

impl Tensor {
    /// The greatest integer not above x, outside of the autograd graph; [`floor`] is within, with a gradient of 0.
    #[track_caller]
    pub fn floor(&self) -> Result<Tensor> {
        floor(&self.unrecorded())
    }
}
