//! `airy_ai(x)`: the Airy function Ai.

use crate::ops::prelude::*;

/// The tile function of [`airy_ai`](fn@airy_ai).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AiryAi;

impl UnaryFn for AiryAi {
    const PICOSECONDS: usize = 80000;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::airy_ai(x)
    }
}

impl Unary for AiryAi {
    const NAME: &'static str = "airy_ai";
    const DIFFERENTIABLE: bool = false;
}

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
#[function]
#[python(special)]
pub fn airy_ai(input: &Tensor) -> Result<Tensor> {
    unary_float(AiryAi, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: AiryAi::NAME, function: &airy_ai::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(AiryAi, -4.0..2.0, series).into_iter().map(Sample::rough).collect()
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
