//! `modified_bessel_k1(x)`: the modified Bessel function of the second kind and order 1.

use crate::ops::prelude::*;

/// The tile function of [`modified_bessel_k1`](fn@modified_bessel_k1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModifiedBesselK1;

impl UnaryFn for ModifiedBesselK1 {
    const PICOSECONDS: usize = 100000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::bessel_k1(x)
    }
}

impl Unary for ModifiedBesselK1 {
    const NAME: &'static str = "modified_bessel_k1";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        // -k0(x) - k1(x) / x.
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        ctx.grad(0)?.mul(&super::modified_bessel_k0::modified_bessel_k0(&x)?.add(&y.div(&x)?)?.neg()?)
    }
}

/// The modified Bessel function of the second kind and order 1, element by element; infinite at 0 and NaN below.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::modified_bessel_k1(&x)?.to_vec1::<f32>()?, [f32::INFINITY, 0.601_907_25]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(special)]
pub fn modified_bessel_k1(input: &Tensor) -> Result<Tensor> {
    unary_float(ModifiedBesselK1, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition {
    name: ModifiedBesselK1::NAME,
    function: &modified_bessel_k1::FUNCTION,
    dtypes: DTypes::FLOATS,
    samples,
};

fn samples() -> Vec<Sample> {
    unary_samples(ModifiedBesselK1, 0.5..3.0, |x| super::modified_bessel_k0::scaled_integral(1.0, x) * (-x).exp())
}
