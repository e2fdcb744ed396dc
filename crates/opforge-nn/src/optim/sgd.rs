use opforge::{Error, GradStore, Result, Scalar, Tensor, Var};
use opforge_cpu::elementwise::{BinaryFn, TernaryFn};
use opforge_cpu::simd::Float;

use super::update::{by1, by2};
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
        let keep = 1.0 - self.lr * self.weight_decay;
        if self.momentum == 0.0 {
            return by1("sgd", Descend { keep: keep.into(), rate: self.lr.into() }, var, grad);
        }
        let buffer = match buffer {
            Some(buffer) => buffer,
            None => buffer.insert(var.zeros_like()?),
        };
        let (momentum, decay) = (Scalar::Float(self.momentum), Scalar::Float(self.weight_decay));
        match self.weight_decay {
            0.0 => by1("sgd_momentum", Momentum { momentum }, buffer, grad)?,
            _ => by2("sgd_momentum", MomentumWithDecay { momentum, decay }, buffer, grad, var)?,
        }
        if self.nesterov {
            let f = Nesterov { keep: keep.into(), rate: self.lr.into(), ahead: (self.lr * self.momentum).into() };
            return by2("sgd_nesterov", f, var, grad, buffer);
        }
        by1("sgd", Descend { keep: 1.0.into(), rate: self.lr.into() }, var, buffer)
    }
}

/// `keep x - rate d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Descend {
    keep: Scalar,
    rate: Scalar,
}

impl BinaryFn for Descend {
    #[inline(always)]
    fn float<V: Float>(self, x: V, d: V) -> V {
        x * V::splat(self.keep.to_f64()) - d * V::splat(self.rate.to_f64())
    }
}

/// `momentum b + g`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Momentum {
    momentum: Scalar,
}

impl BinaryFn for Momentum {
    #[inline(always)]
    fn float<V: Float>(self, b: V, g: V) -> V {
        b.mul_add(V::splat(self.momentum.to_f64()), g)
    }
}

/// `momentum b + g + decay x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct MomentumWithDecay {
    momentum: Scalar,
    decay: Scalar,
}

impl TernaryFn for MomentumWithDecay {
    #[inline(always)]
    fn float<V: Float>(self, b: V, g: V, x: V) -> V {
        b.mul_add(V::splat(self.momentum.to_f64()), x.mul_add(V::splat(self.decay.to_f64()), g))
    }
}

/// `keep x - rate g - ahead b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Nesterov {
    keep: Scalar,
    rate: Scalar,
    ahead: Scalar,
}

impl TernaryFn for Nesterov {
    #[inline(always)]
    fn float<V: Float>(self, x: V, g: V, b: V) -> V {
        let at = |scalar: Scalar| V::splat(scalar.to_f64());
        x * at(self.keep) - g.mul_add(at(self.rate), b * at(self.ahead))
    }
}
