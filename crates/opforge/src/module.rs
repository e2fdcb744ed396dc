//! Modules: functions of one tensor, under candle's names.

use crate::{Result, Tensor};

/// A function of one tensor, usually with parameters of its own: a layer, a model.
pub trait Module {
    /// Applies it.
    ///
    /// # Errors
    /// Whatever the operators that it is made of refuse.
    fn forward(&self, xs: &Tensor) -> Result<Tensor>;
}

/// A module that acts differently while it is trained.
pub trait ModuleT {
    /// Applies it; `train` says whether this is a training step.
    ///
    /// # Errors
    /// As [`Module::forward`].
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor>;
}

impl<T: Fn(&Tensor) -> Result<Tensor>> Module for T {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self(xs)
    }
}

/// A missing module changes nothing.
impl<M: Module> Module for Option<&M> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.map_or_else(|| Ok(xs.clone()), |module| module.forward(xs))
    }
}

impl<M: Module> ModuleT for M {
    fn forward_t(&self, xs: &Tensor, _train: bool) -> Result<Tensor> {
        self.forward(xs)
    }
}

impl Tensor {
    /// Applies a module to this tensor.
    pub fn apply<M: Module>(&self, module: &M) -> Result<Tensor> {
        module.forward(self)
    }

    /// Applies a module that acts differently while it is trained.
    pub fn apply_t<M: ModuleT>(&self, module: &M, train: bool) -> Result<Tensor> {
        module.forward_t(self, train)
    }
}
