//! `angle(x)`: the angle of a number in the complex plane.

use std::f64::consts::PI;

use crate::functional as f;
use crate::functional::Parts;
use crate::ops::prelude::*;

/// The angles of the numbers in the complex plane, from -pi to pi: of real ones pi if they are negative, 0 for others, NaN for NaN.
///
/// Takes a tensor of any dtype of any shape; the result has the same shape. Angles of complex numbers are real; integers and truth values become
/// floating-point numbers first. The gradient of real numbers is 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, -2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::angle(&x)?.to_vec1::<f32>()?, [0.0, std::f32::consts::PI]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -3.0..3.0, reference = |x| if x < 0.0 { PI } else if x.is_nan() { x } else { 0.0 })]
#[python(torch, method)]
impl Unary for Angle {
    const FLAT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let zero = V::splat(0.0);
        let angle = V::select(x.lt(zero), V::splat(PI), zero);
        V::select(x.eq(x), angle, x)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        let Parts { re, im } = Parts::of(input)?;
        f::atan2((&im).into(), (&re).into())
    }
}
