//! `rmsprop_step(params, grads, ..)`: a step of RMSprop, in one pass over memory.

use crate::ops::prelude::*;

/// [`rmsprop_step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct RootMeanSquare {
    rate: Scalar,
    alpha: Scalar,
    eps: Scalar,
    decay: Scalar,
}

impl UpdateFn<2> for RootMeanSquare {
    #[inline(always)]
    fn float<V: Float>(self, [x, s]: [V; 2], g: V) -> [V; 2] {
        let alpha = self.alpha.to_f64();
        let g = x.mul_add(V::splat(self.decay.to_f64()), g);
        let s = s.mul_add(V::splat(alpha), g * g * V::splat(1.0 - alpha));
        [x - g * V::splat(self.rate.to_f64()) / (s.sqrt() + V::splat(self.eps.to_f64())), s]
    }
}

impl Step<2> for RootMeanSquare {
    const NAME: &'static str = "rmsprop";
}

/// A step of RMSprop, in place: with the gradient `g` plus `weight_decay p`, `s = alpha s + (1 - alpha) g^2` and `p -= lr g / (sqrt(s) + eps)`.
///
/// # Errors
/// As `sgd_step`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (p, g) = (Tensor::new(&[1f64], &Device::Cpu)?, Tensor::new(&[3f64], &Device::Cpu)?);
/// let s = p.zeros_like()?;
/// opforge::functional::rmsprop_step(&[p.clone()], &[g], &[s.clone()], 0.25, 0.75, 0.0, 0.0)?;
/// assert_eq!((p.to_vec1::<f64>()?, s.to_vec1::<f64>()?), (vec![0.5], vec![2.25]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, lr, alpha, eps, weight_decay = 0.0)]
#[python(hidden, name = "rmsprop_step_")]
#[operator(DTypes::FLOATS, samples, RootMeanSquare, gradient = false)]
pub fn rmsprop_step(
    params: &[Tensor],
    grads: &[Tensor],
    square_avgs: &[Tensor],
    lr: f64,
    alpha: f64,
    eps: f64,
    weight_decay: f64,
) -> Result<()> {
    check_list("rmsprop", "grads", grads, params)?;
    check_list("rmsprop", "square_avgs", square_avgs, params)?;
    let f = RootMeanSquare { rate: lr.into(), alpha: alpha.into(), eps: eps.into(), decay: weight_decay.into() };
    (0..params.len()).try_for_each(|i| dense([&params[i], &square_avgs[i]], |changed| update(f, changed, &grads[i])))
}

fn samples() -> Vec<Sample> {
    let f = RootMeanSquare { rate: 0.25.into(), alpha: 0.75.into(), eps: 0.5.into(), decay: 0.5.into() };
    vec![update_sample(f, [-2.0..2.0, 0.25..2.0], |[p, s], g| {
        let g = g + 0.5 * p;
        let s = 0.75 * s + 0.25 * g * g;
        [p - 0.25 * g / (s.sqrt() + 0.5), s]
    })]
}
