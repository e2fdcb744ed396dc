//! `erfinv(x)`: the inverse of the error function.

use crate::ops::prelude::*;

/// The inverse of the error function, element by element; NaN outside of -1 to 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::erfinv(&x)?.to_vec1::<f32>()?, [0.0, f32::INFINITY]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -0.95..0.95, reference = inverse)]
#[python(torch, method, in_place, special)]
impl Unary for Erfinv {
    const PICOSECONDS: usize = 900;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::erf_inv(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let slope = ctx.output(0)?.sqr()?.exp()?.affine(1.0 / std::f64::consts::FRAC_2_SQRT_PI, 0.0)?;
        ctx.grad(0)?.mul(&slope)
    }
}

/// By bisection.
fn inverse(y: f64) -> f64 {
    if y == 0.0 {
        return y;
    }
    if y.abs() >= 1.0 || y.is_nan() {
        return if y.abs() == 1.0 { y * f64::INFINITY } else { f64::NAN };
    }
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if libm::erf(middle) < y { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
