//! `sgd_step(params, grads, ..)`: a step of stochastic gradient descent, in one pass over memory.

use crate::ops::prelude::*;

/// [`sgd_step`] without momentum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct Descend {
    rate: Scalar,
    decay: Scalar,
    sign: Scalar,
}

impl UpdateFn<1> for Descend {
    #[inline(always)]
    fn float<V: Float>(self, [x]: [V; 1], g: V) -> [V; 1] {
        let d = x.mul_add(V::splat(self.decay.to_f64()), g * V::splat(self.sign.to_f64()));
        [x - d * V::splat(self.rate.to_f64())]
    }
}

impl Step<1> for Descend {
    const NAME: &'static str = "sgd";
}

/// [`sgd_step`] with momentum: `b = keep b + gain d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct Momentum {
    descend: Descend,
    momentum: Scalar,
    keep: Scalar,
    gain: Scalar,
    nesterov: bool,
}

impl UpdateFn<2> for Momentum {
    #[inline(always)]
    fn float<V: Float>(self, [x, b]: [V; 2], g: V) -> [V; 2] {
        let Descend { rate, decay, sign } = self.descend;
        let d = x.mul_add(V::splat(decay.to_f64()), g * V::splat(sign.to_f64()));
        let b = b.mul_add(V::splat(self.keep.to_f64()), d * V::splat(self.gain.to_f64()));
        let direction = if self.nesterov { b.mul_add(V::splat(self.momentum.to_f64()), d) } else { b };
        [x - direction * V::splat(rate.to_f64()), b]
    }
}

impl Step<2> for Momentum {
    const NAME: &'static str = "sgd_momentum";
}

/// A step of stochastic gradient descent, in place.
///
/// With the gradient `g` (negated to maximize) and `d = g + weight_decay p`: without momentum `p -= lr d`; with it
/// `b = momentum b + (1 - dampening) d` (in the first step `b = d`), then `p -= lr b`, or `p -= lr (d + momentum b)` for Nesterov's form.
///
/// # Errors
/// For lists of other lengths than `params`, and tensors of other shapes or dtypes than their parameter.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (p, g) = (Tensor::new(&[1f32], &Device::Cpu)?, Tensor::new(&[2f32], &Device::Cpu)?);
/// opforge::functional::sgd_step(&[p.clone()], &[g], &[], 0.5, 0.0, 0.0, 0.0, false, false, false)?;
/// assert_eq!(p.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, lr, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false, maximize = false, is_first_step = false)]
#[python(hidden, name = "sgd_step_")]
#[operator(DTypes::FLOATS, samples, Descend, Momentum, gradient = false)]
pub fn sgd_step(
    params: &[Tensor],
    grads: &[Tensor],
    momentum_buffers: &[Tensor],
    lr: f64,
    momentum: f64,
    dampening: f64,
    weight_decay: f64,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
) -> Result<()> {
    check_list("sgd", "grads", grads, params)?;
    let sign = if maximize { -1.0 } else { 1.0 };
    let descend = Descend { rate: lr.into(), decay: weight_decay.into(), sign: sign.into() };
    if momentum == 0.0 {
        let step = |(p, g): (&Tensor, &Tensor)| dense([p], |changed| update(descend, changed, g));
        return params.iter().zip(grads).try_for_each(step);
    }
    check_list("sgd", "momentum_buffers", momentum_buffers, params)?;
    let (keep, gain) = if is_first_step { (0.0, 1.0) } else { (momentum, 1.0 - dampening) };
    let f = Momentum { descend, momentum: momentum.into(), keep: keep.into(), gain: gain.into(), nesterov };
    params.iter().zip(grads).zip(momentum_buffers).try_for_each(|((p, g), b)| {
        if is_first_step {
            b.zero_set()?;
        }
        dense([p, b], |changed| update(f, changed, g))
    })
}

fn samples() -> Vec<Sample> {
    let descend = Descend { rate: 0.25.into(), decay: 0.5.into(), sign: Scalar::from(-1.0) };
    let with_momentum =
        |nesterov| Momentum { descend, momentum: 0.5.into(), keep: 0.5.into(), gain: 0.75.into(), nesterov };
    let state = || [-2.0..2.0, -1.0..2.0];
    vec![
        update_sample(descend, [-2.0..2.0], |[p], g| [p - 0.25 * (0.5 * p - g)]),
        update_sample(with_momentum(false), state(), |[p, b], g| {
            let b = 0.5 * b + 0.75 * (0.5 * p - g);
            [p - 0.25 * b, b]
        }),
        update_sample(with_momentum(true), state(), |[p, b], g| {
            let d = 0.5 * p - g;
            let b = 0.5 * b + 0.75 * d;
            [p - 0.25 * (d + 0.5 * b), b]
        }),
    ]
}
