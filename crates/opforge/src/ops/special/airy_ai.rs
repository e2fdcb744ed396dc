//! `airy_ai(x)`: the Airy function Ai.

use crate::ops::prelude::*;

/// The Airy function Ai, element by element. It has no gradient.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::airy_ai(&x)?.to_vec1::<f32>()?, [0.355_028_06, 0.135_292_41]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[unary(samples = -4.0..2.0, reference = series)]
#[python(special)]
impl Unary for AiryAi {
    const PICOSECONDS: usize = 1500;
    const DIFFERENTIABLE: bool = false;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::airy_ai(x)
    }
}

/// DLMF 9.4.1.
fn series(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    let (mut f, mut g, mut terms) = (0.0, 0.0, (1.0, x));
    for k in 1..60 {
        f += terms.0;
        g += terms.1;
        let n = f64::from(3 * k);
        terms = (terms.0 * x.powi(3) / (n * (n - 1.0)), terms.1 * x.powi(3) / (n * (n + 1.0)));
    }
    0.355_028_053_887_817_2 * f - 0.258_819_403_792_806_8 * g
}
