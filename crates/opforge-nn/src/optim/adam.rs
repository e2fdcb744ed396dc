use opforge::{Error, GradStore, Result, Scalar, Tensor, Var, no_grad};
use opforge_cpu::elementwise::{BinaryFn, TernaryFn};
use opforge_cpu::simd::Float;

use super::update::{by1, by2};
use super::{Optimizer, trainable};

/// The numbers of [`AdamW`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamsAdamW {
    /// The learning rate.
    pub lr: f64,
    /// How much of the mean gradient is kept from step to step.
    pub beta1: f64,
    /// How much of the mean squared gradient is kept from step to step.
    pub beta2: f64,
    /// Added to the divisor.
    pub eps: f64,
    /// The part of a variable that a step takes away, times the learning rate.
    pub weight_decay: f64,
}

impl Default for ParamsAdamW {
    fn default() -> Self {
        ParamsAdamW { lr: 0.001, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 }
    }
}

/// The numbers of [`Adam`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamsAdam {
    /// The learning rate.
    pub lr: f64,
    /// How much of the mean gradient is kept from step to step.
    pub beta1: f64,
    /// How much of the mean squared gradient is kept from step to step.
    pub beta2: f64,
    /// Added to the divisor.
    pub eps: f64,
    /// What a variable's gradient gains for each unit of its value.
    pub weight_decay: f64,
}

impl Default for ParamsAdam {
    fn default() -> Self {
        ParamsAdam { lr: 0.001, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 }
    }
}

/// A variable with the running means of its gradient and of its square.
#[derive(Debug)]
struct Moments {
    var: Var,
    mean: Tensor,
    square: Tensor,
}

/// Both optimizers' common part.
#[derive(Debug)]
struct State {
    vars: Vec<Moments>,
    step: i32,
}

impl State {
    fn new(op: &'static str, vars: Vec<Var>, betas: [f64; 2]) -> Result<Self> {
        if let Some(beta) = betas.into_iter().find(|beta| !(0.0..1.0).contains(beta)) {
            return Err(Error::value(op, "beta", beta, "at least 0, below 1"));
        }
        let moments = |var: Var| Ok(Moments { mean: var.zeros_like()?, square: var.zeros_like()?, var });
        Ok(State { vars: trainable(vars).map(moments).collect::<Result<_>>()?, step: 0 })
    }

    /// A step; `decoupled` says whether weights decay by themselves or through their gradients.
    fn update(&mut self, grads: &GradStore, p: &ParamsAdamW, decoupled: bool) -> Result<()> {
        self.step = self.step.saturating_add(1);
        let apply = Apply {
            keep: if decoupled { 1.0 - p.lr * p.weight_decay } else { 1.0 }.into(),
            rate: (p.lr / (1.0 - p.beta1.powi(self.step))).into(),
            correction: (1.0 / (1.0 - p.beta2.powi(self.step))).into(),
            eps: p.eps.into(),
        };
        for Moments { var, mean, square } in &self.vars {
            let Some(grad) = grads.get(var) else { continue };
            if decoupled || p.weight_decay == 0.0 {
                average(mean, square, grad, p)?;
            } else {
                let decayed = no_grad(|| var.affine(p.weight_decay, 0.0)?.add(grad))?;
                average(mean, square, &decayed, p)?;
            }
            by2("adam", apply, var, mean, square)?;
        }
        Ok(())
    }
}

fn average(mean: &Tensor, square: &Tensor, grad: &Tensor, p: &ParamsAdamW) -> Result<()> {
    by1("adam_mean", Mean { beta: p.beta1.into() }, mean, grad)?;
    by1("adam_square", MeanSquare { beta: p.beta2.into() }, square, grad)
}

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
///
/// With the gradient `g`, at step `t`: `m = beta1 m + (1 - beta1) g`, `v = beta2 v + (1 - beta2) g^2`, then
/// `x = x (1 - lr weight_decay) - lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)`.
#[derive(Debug)]
pub struct AdamW {
    state: State,
    params: ParamsAdamW,
}

impl AdamW {
    /// With this learning rate and the default for the rest.
    ///
    /// # Errors
    /// As [`Optimizer::new`].
    pub fn new_lr(vars: Vec<Var>, lr: f64) -> Result<Self> {
        Self::new(vars, ParamsAdamW { lr, ..ParamsAdamW::default() })
    }

    /// The numbers.
    pub fn params(&self) -> &ParamsAdamW {
        &self.params
    }

    /// Sets the numbers.
    pub fn set_params(&mut self, params: ParamsAdamW) {
        self.params = params;
    }
}

impl Optimizer for AdamW {
    type Config = ParamsAdamW;

    fn new(vars: Vec<Var>, params: ParamsAdamW) -> Result<Self> {
        let state = State::new("AdamW", vars, [params.beta1, params.beta2])?;
        Ok(AdamW { state, params })
    }

    fn learning_rate(&self) -> f64 {
        self.params.lr
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.params.lr = lr;
    }

    fn step(&mut self, grads: &GradStore) -> Result<()> {
        self.state.update(grads, &self.params, true)
    }
}

/// Adam (Kingma and Ba, 2015); weight decay goes through the gradient: `g + weight_decay x` takes its place in [`AdamW`]'s formula.
#[derive(Debug)]
pub struct Adam {
    state: State,
    params: ParamsAdam,
}

impl Adam {
    /// With this learning rate and the default for the rest.
    ///
    /// # Errors
    /// As [`Optimizer::new`].
    pub fn new_lr(vars: Vec<Var>, lr: f64) -> Result<Self> {
        Self::new(vars, ParamsAdam { lr, ..ParamsAdam::default() })
    }

    /// The numbers.
    pub fn params(&self) -> &ParamsAdam {
        &self.params
    }
}

impl Optimizer for Adam {
    type Config = ParamsAdam;

    fn new(vars: Vec<Var>, params: ParamsAdam) -> Result<Self> {
        let state = State::new("Adam", vars, [params.beta1, params.beta2])?;
        Ok(Adam { state, params })
    }

    fn learning_rate(&self) -> f64 {
        self.params.lr
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.params.lr = lr;
    }

    fn step(&mut self, grads: &GradStore) -> Result<()> {
        let ParamsAdam { lr, beta1, beta2, eps, weight_decay } = self.params;
        self.state.update(grads, &ParamsAdamW { lr, beta1, beta2, eps, weight_decay }, false)
    }
}

/// `beta m + (1 - beta) g`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Mean {
    beta: Scalar,
}

impl BinaryFn for Mean {
    #[inline(always)]
    fn float<V: Float>(self, m: V, g: V) -> V {
        let beta = self.beta.to_f64();
        m.mul_add(V::splat(beta), g * V::splat(1.0 - beta))
    }
}

/// `beta v + (1 - beta) g^2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct MeanSquare {
    beta: Scalar,
}

impl BinaryFn for MeanSquare {
    #[inline(always)]
    fn float<V: Float>(self, v: V, g: V) -> V {
        let beta = self.beta.to_f64();
        v.mul_add(V::splat(beta), g * g * V::splat(1.0 - beta))
    }
}

/// `keep x - rate m / (sqrt(correction v) + eps)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Apply {
    keep: Scalar,
    rate: Scalar,
    correction: Scalar,
    eps: Scalar,
}

impl TernaryFn for Apply {
    #[inline(always)]
    fn float<V: Float>(self, x: V, m: V, v: V) -> V {
        let at = |scalar: Scalar| V::splat(scalar.to_f64());
        let divisor = (v * at(self.correction)).sqrt() + at(self.eps);
        x * at(self.keep) - m * at(self.rate) / divisor
    }
}
