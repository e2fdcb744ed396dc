//! Stochastic gradient descent.

use opforge::functional::sgd_step;
use opforge::{Error, GradStore, Result, Tensor, Var};

use super::{Optimizer, trainable};

/// The hyperparameters of [`SGD`].
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

    /// The hyperparameters.
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
        let ParamsSGD { lr, momentum, nesterov, weight_decay } = *self;
        let is_first_step = buffer.is_none();
        let buffers = match buffer {
            _ if momentum == 0.0 => vec![],
            Some(buffer) => vec![buffer.clone()],
            None => vec![buffer.insert(var.zeros_like()?).clone()],
        };
        let (var, grad) = ([var.as_tensor().clone()], [grad.clone()]);
        sgd_step(&var, &grad, &buffers, lr, momentum, 0.0, weight_decay, nesterov, false, is_first_step)
    }
}
