//! `logit(x) = log(x / (1 - x))`, which the logistic function undoes.

use crate::functional as f;
use crate::ops::prelude::*;

/// The tile function of [`logit`](fn@logit).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Logit;

impl UnaryFn for Logit {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        math::log(x / (V::splat(1.0) - x))
    }
}

impl Unary for Logit {
    const NAME: &'static str = "logit";

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let slope = grad.div(&x.mul(&x.affine(-1.0, 1.0)?)?)?;
        let outside = f::logical_or((&x.lt(0.0)?).into(), (&x.gt(1.0)?).into())?;
        f::where_cond(&outside, f64::NAN.into(), (&slope).into())
    }
}

/// `log(x / (1 - x))`, of x between `eps` and `1 - eps` if given; beyond these bounds, not at them, the gradient is 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0.5f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::logit(&x, None)?.to_vec1::<f32>()?, [0.0, f32::INFINITY]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(eps = None)]
#[python(torch, method, in_place, special)]
#[operator(DTypes::FLOATS, samples, Logit)]
pub fn logit(input: &Tensor, eps: Option<f64>) -> Result<Tensor> {
    let x = f::floating(input)?;
    let x = match eps {
        // The bounds may be the wrong way round: then what is below the lower one is raised to it, and all else lowered.
        Some(eps) => {
            let above = f::gt((&*x).into(), (1.0 - eps).into())?;
            let lowered = f::where_cond(&above, (1.0 - eps).into(), (&*x).into())?;
            f::where_cond(&f::lt((&*x).into(), eps.into())?, eps.into(), (&lowered).into())?
        }
        None => x.into_owned(),
    };
    unary(Logit, &x)
}

fn samples() -> Vec<Sample> {
    unary_samples(Logit, 0.1..0.9, |x| (x / (1.0 - x)).ln())
}
