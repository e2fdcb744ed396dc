//! `sinc(x) = sin(pi x) / (pi x)`.

use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::special::spherical_bessel_j0::slope;

/// `sin(pi x) / (pi x)`, 1 at 0, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::sinc(&x)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = 0.1..2.4, reference = reference)]
#[python(torch, method, in_place, special)]
impl Unary for Sinc {
    const PICOSECONDS: usize = 400;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        let angle = x * V::splat(std::f64::consts::PI);
        V::select(x.eq(V::splat(0.0)), V::splat(1.0), math::sin(angle) / angle)
    }

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        // An infinite gradient stops at 0, where the function is flat.
        let stops = f::logical_and((&x.eq(0.0)?).into(), (&f::isinf(&grad)?).into())?;
        let grad = f::where_cond(&stops, 0.0.into(), (&grad).into())?;
        grad.mul(&slope(&x.affine(std::f64::consts::PI, 0.0)?)?.affine(std::f64::consts::PI, 0.0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        let flat = f::eq(input.into(), 0.0.into())?;
        let safe = f::where_cond(&flat, 1.0.into(), input.into())?;
        let angle = f::mul((&safe).into(), std::f64::consts::PI.into())?;
        let quotient = f::div((&f::sin(&angle)?).into(), (&angle).into(), None)?;
        f::where_cond(&flat, 1.0.into(), (&quotient).into())
    }
}

fn reference(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) }
}
