//! Optimizers: they change variables in place by their gradients.
//!
//! A step reads and writes each variable and its state once or twice: the updates are elementwise operators of their own, written in place.

mod adam;
mod sgd;

pub use adam::{Adam, AdamW, ParamsAdam, ParamsAdamW};
pub use sgd::{ParamsSGD, SGD};

use opforge::{GradStore, Result, Tensor, Var};

/// What all optimizers have.
pub trait Optimizer: Sized {
    /// The learning rate and whatever else sets it.
    type Config: Sized;

    /// An optimizer of these variables; those that are not floats are left out.
    ///
    /// # Errors
    /// For a configuration that makes no sense, and when there is no memory for its state.
    fn new(vars: Vec<Var>, config: Self::Config) -> Result<Self>;

    /// Changes every variable that has a gradient.
    ///
    /// # Errors
    /// When a gradient failed to compute or has another shape or dtype.
    fn step(&mut self, grads: &GradStore) -> Result<()>;

    /// The learning rate.
    fn learning_rate(&self) -> f64;

    /// Sets the learning rate.
    fn set_learning_rate(&mut self, lr: f64);

    /// An optimizer without variables.
    ///
    /// # Errors
    /// As [`Optimizer::new`].
    fn empty(config: Self::Config) -> Result<Self> {
        Self::new(Vec::new(), config)
    }

    /// The backward of a loss, then a step by its gradients.
    ///
    /// # Errors
    /// Those of both.
    fn backward_step(&mut self, loss: &Tensor) -> Result<()> {
        let grads = loss.backward()?;
        self.step(&grads)
    }

    /// An optimizer of these variables.
    ///
    /// # Errors
    /// As [`Optimizer::new`].
    fn from_slice(vars: &[&Var], config: Self::Config) -> Result<Self> {
        Self::new(vars.iter().map(|&var| var.clone()).collect(), config)
    }
}

/// The variables that can be trained.
fn trainable(vars: Vec<Var>) -> impl Iterator<Item = Var> {
    vars.into_iter().filter(|var| var.dtype().is_float())
}
