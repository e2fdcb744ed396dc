//! `erfinv(x)`: the inverse of the error function.

use crate::ops::prelude::*;

/// The tile function of [`erfinv`](fn@erfinv).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Erfinv;

impl UnaryFn for Erfinv {
    const PICOSECONDS: usize = 30000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::erf_inv(x)
    }
}

impl Unary for Erfinv {
    const NAME: &'static str = "erfinv";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let slope = ctx.output(0)?.sqr()?.exp()?.affine(1.0 / std::f64::consts::FRAC_2_SQRT_PI, 0.0)?;
        ctx.grad(0)?.mul(&slope)
    }
}

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
#[function]
#[python(torch, method, in_place, special)]
pub fn erfinv(input: &Tensor) -> Result<Tensor> {
    unary_float(Erfinv, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Erfinv::NAME, function: &erfinv::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Erfinv, -0.95..0.95, inverse)
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
