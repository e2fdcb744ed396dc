//! Adam, with weight decay by the gradient or by itself.

use std::collections::HashMap;

use opforge::functional::adam_step;
use opforge::{Device, Error, GradStore, Result, Tensor, Var};

use super::{Optimizer, trainable};

/// The hyperparameters of [`AdamW`].
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

/// The hyperparameters of [`Adam`].
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
    step: i64,
}

impl State {
    fn new(op: &'static str, vars: Vec<Var>, betas: [f64; 2]) -> Result<Self> {
        if let Some(beta) = betas.into_iter().find(|beta| !(0.0..1.0).contains(beta)) {
            return Err(Error::value(op, "beta", beta, "at least 0, below 1"));
        }
        let moments = |var: Var| Ok(Moments { mean: var.zeros_like()?, square: var.zeros_like()?, var });
        Ok(State { vars: trainable(vars).map(moments).collect::<Result<_>>()?, step: 0 })
    }

    fn named(&self) -> Result<Vec<(String, Tensor)>> {
        let step = ("optimizer.step".to_owned(), Tensor::new(self.step, &Device::Cpu)?);
        let mut named = vec![step];
        for (i, Moments { mean, square, .. }) in self.vars.iter().enumerate() {
            named.push((format!("optimizer.{i}.mean"), mean.copy()?));
            named.push((format!("optimizer.{i}.square"), square.copy()?));
        }
        Ok(named)
    }

    fn load(&mut self, op: &'static str, state: &HashMap<String, Tensor>) -> Result<()> {
        let find = |name: String, like: &Tensor| {
            let found = state.get(&name).ok_or_else(|| Error::value(op, name.clone(), "none", "a state with it"))?;
            if found.shape() != like.shape() || found.dtype() != like.dtype() {
                let text = |t: &Tensor| format!("{} {:?}", t.dtype(), t.dims());
                return Err(Error::value(op, name, text(found), text(like)));
            }
            Ok(found.clone())
        };
        let step = find("optimizer.step".to_owned(), &Tensor::new(0i64, &Device::Cpu)?)?.to_scalar()?;
        let found = self.vars.iter().enumerate().map(|(i, moments)| {
            let mean = find(format!("optimizer.{i}.mean"), &moments.mean)?;
            Ok((mean.copy()?, find(format!("optimizer.{i}.square"), &moments.square)?.copy()?))
        });
        // All are found before anything changes.
        let found = found.collect::<Result<Vec<(Tensor, Tensor)>>>()?;
        self.vars
            .iter_mut()
            .zip(found)
            .for_each(|(moments, (mean, square))| (moments.mean, moments.square) = (mean, square));
        self.step = step;
        Ok(())
    }

    /// A step; `decoupled` says whether weights decay by themselves or through their gradients.
    fn update(&mut self, grads: &GradStore, p: &ParamsAdamW, decoupled: bool) -> Result<()> {
        self.step = self.step.saturating_add(1);
        let ParamsAdamW { lr, beta1, beta2, eps, weight_decay } = *p;
        for Moments { var, mean, square } in &self.vars {
            let Some(grad) = grads.get(var) else { continue };
            let [x, g, m, v] = [var.as_tensor(), grad, mean, square].map(|t| [t.clone()]);
            adam_step(&x, &g, &m, &v, &[], self.step, lr, beta1, beta2, eps, weight_decay, decoupled, false)?;
        }
        Ok(())
    }
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

    /// The hyperparameters.
    pub fn params(&self) -> &ParamsAdamW {
        &self.params
    }

    /// Sets the hyperparameters.
    pub fn set_params(&mut self, params: ParamsAdamW) {
        self.params = params;
    }

    /// The state of the steps so far, to be saved beside the variables: names begin with `optimizer.`.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn state(&self) -> Result<Vec<(String, Tensor)>> {
        self.state.named()
    }

    /// Loads what [`AdamW::state`] gave for variables of the same shapes, in the same order; tensors of other names are left alone.
    ///
    /// # Errors
    /// For tensors that are missing, or of other shapes and dtypes; then nothing has changed.
    pub fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        self.state.load("AdamW", state)
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

    /// The hyperparameters.
    pub fn params(&self) -> &ParamsAdam {
        &self.params
    }

    /// The state of the steps so far, to be saved beside the variables: names begin with `optimizer.`.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn state(&self) -> Result<Vec<(String, Tensor)>> {
        self.state.named()
    }

    /// Loads what [`Adam::state`] gave for variables of the same shapes, in the same order; tensors of other names are left alone.
    ///
    /// # Errors
    /// For tensors that are missing, or of other shapes and dtypes; then nothing has changed.
    pub fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        self.state.load("Adam", state)
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
