//! `exp(x)`: `e^x`.

use crate::functional as f;
use crate::functional::Parts;
use crate::ops::prelude::*;

/// The tile function of [`exp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Exp;

impl UnaryFn for Exp {
    const PICOSECONDS: usize = 150;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::exp(x)
    }
}

impl Unary for Exp {
    const NAME: &'static str = "exp";
    const SAVES: Saves = Saves::OUTPUTS;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.mul(&ctx.output(0)?)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        let Parts { re, im } = Parts::of(input)?;
        f::polar(&re.exp()?, &im)
    }
}

/// `e^x`, element by element.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::exp(&x)?.to_vec1::<f32>()?, [1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn exp(input: &Tensor) -> Result<Tensor> {
    unary_float(Exp, input)
}

impl Tensor {
    /// `e^x`: see [`exp`].
    #[track_caller]
    pub fn exp(&self) -> Result<Tensor> {
        unary(Exp, self)
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Exp::NAME, function: &exp::FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    unary_samples(Exp, -3.0..3.0, f64::exp)
}
