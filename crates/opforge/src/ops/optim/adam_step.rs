//! `adam_step(params, grads, ..)`: a step of Adam, in one pass over memory.

use crate::ops::prelude::*;

/// [`adam_step`] with the first and the second moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct Adapt {
    betas: [Scalar; 2],
    /// 1, less what decoupled decay takes.
    keep: Scalar,
    decay: Scalar,
    sign: Scalar,
    /// The learning rate over `1 - beta1^t`.
    rate: Scalar,
    /// `1 / (1 - beta2^t)`.
    correction: Scalar,
    eps: Scalar,
}

impl Adapt {
    /// The new moments.
    #[inline(always)]
    fn moments<V: Float>(self, x: V, m: V, v: V, g: V) -> [V; 2] {
        let [beta1, beta2] = [self.betas[0].to_f64(), self.betas[1].to_f64()];
        let g = x.mul_add(V::splat(self.decay.to_f64()), g * V::splat(self.sign.to_f64()));
        let m = m.mul_add(V::splat(beta1), g * V::splat(1.0 - beta1));
        [m, v.mul_add(V::splat(beta2), g * g * V::splat(1.0 - beta2))]
    }

    /// The new parameter from its moments.
    #[inline(always)]
    fn adapted<V: Float>(self, x: V, m: V, v: V) -> V {
        let divisor = (v * V::splat(self.correction.to_f64())).sqrt() + V::splat(self.eps.to_f64());
        x * V::splat(self.keep.to_f64()) - m * V::splat(self.rate.to_f64()) / divisor
    }
}

impl UpdateFn<3> for Adapt {
    #[inline(always)]
    fn float<V: Float>(self, [x, m, v]: [V; 3], g: V) -> [V; 3] {
        let [m, v] = self.moments(x, m, v, g);
        [self.adapted(x, m, v), m, v]
    }
}

impl Step<3> for Adapt {
    const NAME: &'static str = "adam";
}

/// [`adam_step`] with the largest second moment so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct AdaptByLargest(Adapt);

impl UpdateFn<4> for AdaptByLargest {
    #[inline(always)]
    fn float<V: Float>(self, [x, m, v, largest]: [V; 4], g: V) -> [V; 4] {
        let [m, v] = self.0.moments(x, m, v, g);
        let largest = largest.max(v);
        [self.0.adapted(x, m, largest), m, v, largest]
    }
}

impl Step<4> for AdaptByLargest {
    const NAME: &'static str = "amsgrad";
}

/// A step of Adam, in place; `step` counts from 1.
///
/// With the gradient `g` (negated to maximize; plus `weight_decay p` unless decay is decoupled): `m = beta1 m + (1 - beta1) g`,
/// `v = beta2 v + (1 - beta2) g^2`, then `p -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)`; decoupled decay first takes
/// `lr weight_decay p` away. With `max_exp_avg_sqs` the largest `v` so far takes its place in the divisor.
///
/// # Errors
/// As `sgd_step`; for a step below 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (p, g) = (Tensor::new(&[1f64], &Device::Cpu)?, Tensor::new(&[3f64], &Device::Cpu)?);
/// let (m, v) = (p.zeros_like()?, p.zeros_like()?);
/// opforge::functional::adam_step(&[p.clone()], &[g], &[m], &[v], &[], 1, 0.25, 0.9, 0.999, 0.0, 0.0, false, false)?;
/// assert!((p.to_vec1::<f64>()?[0] - 0.75).abs() < 1e-9);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, step, lr, beta1, beta2, eps, weight_decay = 0.0, decoupled_weight_decay = false, maximize = false)]
#[python(hidden, name = "adam_step_")]
#[operator(DTypes::FLOATS, samples, Adapt, AdaptByLargest, gradient = false)]
pub fn adam_step(
    params: &[Tensor],
    grads: &[Tensor],
    exp_avgs: &[Tensor],
    exp_avg_sqs: &[Tensor],
    max_exp_avg_sqs: &[Tensor],
    step: i64,
    lr: f64,
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> Result<()> {
    for (name, list) in [("grads", grads), ("exp_avgs", exp_avgs), ("exp_avg_sqs", exp_avg_sqs)] {
        check_list("adam", name, list, params)?;
    }
    ensure(step >= 1, || Error::value("adam", "step", step, "1 or more"))?;
    let t = step as f64;
    let (keep, decay) = if decoupled_weight_decay { (1.0 - lr * weight_decay, 0.0) } else { (1.0, weight_decay) };
    let f = Adapt {
        betas: [beta1.into(), beta2.into()],
        keep: keep.into(),
        decay: decay.into(),
        sign: if maximize { -1.0 } else { 1.0 }.into(),
        rate: (lr / (1.0 - beta1.powf(t))).into(),
        correction: (1.0 / (1.0 - beta2.powf(t))).into(),
        eps: eps.into(),
    };
    if max_exp_avg_sqs.is_empty() {
        return (0..params.len()).try_for_each(|i| {
            let changed = [&params[i], &exp_avgs[i], &exp_avg_sqs[i]];
            dense(changed, |changed| update(f, changed, &grads[i]))
        });
    }
    check_list("adam", "max_exp_avg_sqs", max_exp_avg_sqs, params)?;
    (0..params.len()).try_for_each(|i| {
        let changed = [&params[i], &exp_avgs[i], &exp_avg_sqs[i], &max_exp_avg_sqs[i]];
        dense(changed, |changed| update(AdaptByLargest(f), changed, &grads[i]))
    })
}

fn samples() -> Vec<Sample> {
    let f = Adapt {
        betas: [0.75.into(), 0.5.into()],
        keep: 0.875.into(),
        decay: 0.5.into(),
        sign: Scalar::from(-1.0),
        rate: 0.25.into(),
        correction: 2.0.into(),
        eps: 0.5.into(),
    };
    fn moments(p: f64, m: f64, v: f64, g: f64) -> [f64; 2] {
        let g = 0.5 * p - g;
        [0.75 * m + 0.25 * g, 0.5 * v + 0.5 * g * g]
    }
    fn adapted(p: f64, m: f64, v: f64) -> f64 {
        0.875 * p - 0.25 * m / ((2.0 * v).sqrt() + 0.5)
    }
    vec![
        update_sample(f, [-2.0..2.0, -1.0..1.0, 0.25..2.0], |[p, m, v], g| {
            let [m, v] = moments(p, m, v, g);
            [adapted(p, m, v), m, v]
        }),
        update_sample(AdaptByLargest(f), [-2.0..2.0, -1.0..1.0, 0.25..2.0, 0.5..2.5], |[p, m, v, largest], g| {
            let [m, v] = moments(p, m, v, g);
            let largest = if largest > v || largest.is_nan() { largest } else { v };
            [adapted(p, m, largest), m, v, largest]
        }),
    ]
}
