//! Steps of optimizers: all parameters and their state in one call, each in one pass over memory.

use opforge_cpu::elementwise::UpdateFn;

use crate::ops::prelude::*;

functions! { sgd_step, rmsprop_step, adam_step }

/// [`sgd_step`] without momentum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// [`sgd_step`] with momentum: `b = keep b + gain d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// [`adam_step`] with the first and the second moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// [`adam_step`] with the largest second moment so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct AdaptByLargest(Adapt);

impl UpdateFn<4> for AdaptByLargest {
    #[inline(always)]
    fn float<V: Float>(self, [x, m, v, largest]: [V; 4], g: V) -> [V; 4] {
        let [m, v] = self.0.moments(x, m, v, g);
        let largest = largest.max(v);
        [self.0.adapted(x, m, largest), m, v, largest]
    }
}

/// [`rmsprop_step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// Fails unless a list has one tensor for each parameter.
fn check_list(op: &'static str, name: &'static str, list: &[Tensor], params: &[Tensor]) -> Result<()> {
    if list.len() == params.len() {
        return Ok(());
    }
    Err(Error::value(op, name, format!("{} tensors", list.len()), format!("one for each of {} params", params.len())))
}

/// Calls `f` with the tensors row-major, as updates want them; those that are not get its changes afterwards.
fn dense<const N: usize>(changed: [&Tensor; N], f: impl FnOnce([&Tensor; N]) -> Result<()>) -> Result<()> {
    if changed.iter().all(|t| t.is_contiguous()) {
        return f(changed);
    }
    crate::no_grad(|| {
        let copies = changed.iter().map(|t| t.contiguous()).collect::<Result<Vec<_>>>()?;
        f(std::array::from_fn(|i| &copies[i]))?;
        changed.iter().zip(&copies).filter(|(t, _)| !t.is_contiguous()).try_for_each(|(t, copy)| t.copy_from(copy))
    })
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
        let step = |(p, g): (&Tensor, &Tensor)| dense([p], |changed| update("sgd", descend, changed, g));
        return params.iter().zip(grads).try_for_each(step);
    }
    check_list("sgd", "momentum_buffers", momentum_buffers, params)?;
    let (keep, gain) = if is_first_step { (0.0, 1.0) } else { (momentum, 1.0 - dampening) };
    let f = Momentum { descend, momentum: momentum.into(), keep: keep.into(), gain: gain.into(), nesterov };
    params.iter().zip(grads).zip(momentum_buffers).try_for_each(|((p, g), b)| {
        if is_first_step {
            b.zero_set()?;
        }
        dense([p, b], |changed| update("sgd_momentum", f, changed, g))
    })
}

/// A step of RMSprop, in place: with the gradient `g` plus `weight_decay p`, `s = alpha s + (1 - alpha) g^2` and `p -= lr g / (sqrt(s) + eps)`.
///
/// # Errors
/// As [`sgd_step`].
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
    (0..params.len())
        .try_for_each(|i| dense([&params[i], &square_avgs[i]], |changed| update("rmsprop", f, changed, &grads[i])))
}

/// A step of Adam, in place; `step` counts from 1.
///
/// With the gradient `g` (negated to maximize; plus `weight_decay p` unless decay is decoupled): `m = beta1 m + (1 - beta1) g`,
/// `v = beta2 v + (1 - beta2) g^2`, then `p -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)`; decoupled decay first takes
/// `lr weight_decay p` away. With `max_exp_avg_sqs` the largest `v` so far takes its place in the divisor.
///
/// # Errors
/// As [`sgd_step`]; for a step below 1.
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
    if step < 1 {
        return Err(Error::value("adam", "step", step, "1 or more"));
    }
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
            dense(changed, |changed| update("adam", f, changed, &grads[i]))
        });
    }
    check_list("adam", "max_exp_avg_sqs", max_exp_avg_sqs, params)?;
    (0..params.len()).try_for_each(|i| {
        let changed = [&params[i], &exp_avgs[i], &exp_avg_sqs[i], &max_exp_avg_sqs[i]];
        dense(changed, |changed| update("amsgrad", AdaptByLargest(f), changed, &grads[i]))
    })
}
