//! `tan(x)`: the tangent.

use crate::ops::prelude::*;

/// The tile function of [`tan`](fn@tan).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tan;

impl UnaryFn for Tan {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::tan(x)
    }
}

impl Unary for Tan {
    const NAME: &'static str = "tan";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?.sqr()?.affine(1.0, 1.0)?)
    }
}

/// The tangent of radians, element by element.
///
/// Integers and truth values become floating-point numbers first.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::tan(&x)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn tan(input: &Tensor) -> Result<Tensor> {
    unary_float(Tan, input)
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Tan::NAME, function: &tan::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Tan, -1.2..1.2, f64::tan)
}
