use opforge::{Error, GradStore, Result, Scalar, Tensor, Var};
use opforge_cpu::elementwise::UpdateFn;
use opforge_cpu::simd::Float;

use super::update::update;
use super::{Optimizer, trainable};

/// The numbers of [`SGD`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamsSGD {
    /// The learning rate.
    pub lr: f64,
    /// How much of the direction is kept from step to step; 0 for none.
    pub momentum: f64,
    /// Whether to look one step of momentum ahead.
    pub nesterov: bool,
    /// What a variable's gradient gains for each unit of its value.
    pub weight_decay: f64,
}

impl Default for ParamsSGD {
    fn default() -> Self {
        ParamsSGD { lr: 0.01, momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }
}

/// Stochastic gradient descent.
///
/// With the gradient `g` and weight decay `w`: `d = g + w x`; with momentum `u`: `b = u b + d`, `d = b`, or `d + u b` for Nesterov's; then
/// `x -= lr d`.
#[derive(Debug)]
pub struct SGD {
    vars: Vec<(Var, Option<Tensor>)>,
    params: ParamsSGD,
}

impl SGD {
    /// With momentum or weight decay.
    ///
    /// # Errors
    /// When Nesterov's form is asked for without momentum.
    pub fn with_params(vars: Vec<Var>, params: ParamsSGD) -> Result<Self> {
        if params.nesterov && params.momentum == 0.0 {
            return Err(Error::value("SGD", "momentum", params.momentum, "a momentum, for Nesterov's"));
        }
        let mut sgd = SGD { vars: Vec::new(), params };
        trainable(vars).for_each(|var| sgd.push(&var));
        Ok(sgd)
    }

    /// The numbers.
    pub fn params(&self) -> &ParamsSGD {
        &self.params
    }

    /// Adds a variable.
    pub fn push(&mut self, var: &Var) {
        self.vars.push((var.clone(), None));
    }

    /// The variables.
    pub fn into_inner(self) -> Vec<Var> {
        self.vars.into_iter().map(|(var, _)| var).collect()
    }
}

impl Optimizer for SGD {
    type Config = f64;

    fn new(vars: Vec<Var>, lr: f64) -> Result<Self> {
        SGD::with_params(vars, ParamsSGD { lr, ..ParamsSGD::default() })
    }

    fn learning_rate(&self) -> f64 {
        self.params.lr
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.params.lr = lr;
    }

    fn step(&mut self, grads: &GradStore) -> Result<()> {
        for (var, buffer) in &mut self.vars {
            if let Some(grad) = grads.get(var) {
                self.params.update(var, grad, buffer)?;
            }
        }
        Ok(())
    }
}

impl ParamsSGD {
    fn update(&self, var: &Var, grad: &Tensor, buffer: &mut Option<Tensor>) -> Result<()> {
        let (rate, decay) = (Scalar::Float(self.lr), Scalar::Float(self.weight_decay));
        if self.momentum == 0.0 {
            return update("sgd", Descend { rate, decay }, [var], grad);
        }
        let buffer = match buffer {
            Some(buffer) => buffer,
            None => buffer.insert(var.zeros_like()?),
        };
        let momentum = Scalar::Float(self.momentum);
        let f = Momentum { rate, decay, momentum, nesterov: self.nesterov };
        update("sgd_momentum", f, [var, buffer], grad)
    }
}

/// `x - rate (g + decay x)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Descend {
    rate: Scalar,
    decay: Scalar,
}

impl UpdateFn<1> for Descend {
    #[inline(always)]
    fn float<V: Float>(self, [x]: [V; 1], g: V) -> [V; 1] {
        let d = x.mul_add(V::splat(self.decay.to_f64()), g);
        [x - d * V::splat(self.rate.to_f64())]
    }
}

/// [`SGD`]'s formula for a variable and its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Momentum {
    rate: Scalar,
    decay: Scalar,
    momentum: Scalar,
    nesterov: bool,
}

impl UpdateFn<2> for Momentum {
    #[inline(always)]
    fn float<V: Float>(self, [x, b]: [V; 2], g: V) -> [V; 2] {
        let momentum = V::splat(self.momentum.to_f64());
        let d = x.mul_add(V::splat(self.decay.to_f64()), g);
        let b = b.mul_add(momentum, d);
        let direction = if self.nesterov { b.mul_add(momentum, d) } else { b };
        [x - direction * V::splat(self.rate.to_f64()), b]
    }
}
