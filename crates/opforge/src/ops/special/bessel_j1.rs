//! `bessel_j1(x)`: the Bessel function of the first kind and order 1.

use crate::ops::prelude::*;

/// The tile function of [`bessel_j1`](fn@bessel_j1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BesselJ1;

impl UnaryFn for BesselJ1 {
    const PICOSECONDS: usize = 30000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_j1(x)
    }
}

impl Unary for BesselJ1 {
    const NAME: &'static str = "bessel_j1";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // j0(x) - j1(x) / x, and a half at 0.
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let flat = x.eq(0.0)?;
        let ratio = y.div(&flat.where_cond(&x.ones_like()?, &x)?)?;
        let ratio = flat.where_cond(&x.ones_like()?.affine(0.5, 0.0)?, &ratio)?;
        ctx.grad(0)?.mul(&super::bessel_j0::bessel_j0(&x)?.sub(&ratio)?)
    }
}

/// The Bessel function of the first kind and order 1, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bessel_j1(&x)?.to_vec1::<f32>()?, [0.0, 0.440_050_57]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(special)]
pub fn bessel_j1(input: &Tensor) -> Result<Tensor> {
    unary_float(BesselJ1, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: BesselJ1::NAME, function: &bessel_j1::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(BesselJ1, 0.5..6.0, |x| match x {
        0.0 => x,
        _ if x.is_infinite() => 0.0,
        _ => super::bessel_j0::integral(1.0, x),
    })
}
