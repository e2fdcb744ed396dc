//! `ndtri(p)`: the inverse of the normal distribution function.

use crate::ops::prelude::*;

/// The argument at which the normal distribution function has this value; NaN outside of 0 to 1.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0.5f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ndtri(&x)?.to_vec1::<f32>()?, [0.0, f32::INFINITY]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.02..0.98, reference = inverse)]
#[python(special)]
impl Unary for Ndtri {
    const PICOSECONDS: usize = 1200;
    const SAVES: Saves = Saves::OUTPUTS;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::ndtri(x)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // sqrt(2 pi) exp(y^2 / 2).
        let slope = ctx.output(0)?.sqr()?.affine(0.5, 0.0)?.exp()?.affine(std::f64::consts::TAU.sqrt(), 0.0)?;
        ctx.grad(0)?.mul(&slope)
    }
}

/// By bisection.
fn inverse(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let (mut low, mut high) = if p == 0.0 { (f64::NEG_INFINITY, f64::NEG_INFINITY) } else { (-10.0, 10.0) };
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if 0.5 * libm::erfc(-middle * std::f64::consts::FRAC_1_SQRT_2) < p { low = middle } else { high = middle }
    }
    low
}
