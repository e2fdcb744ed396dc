//! Modules made of closures.

use std::fmt;
use std::sync::Arc;

use opforge::{Module, ModuleT, Result, Tensor};

type Closure<'a> = dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a;
type ClosureT<'a> = dyn Fn(&Tensor, bool) -> Result<Tensor> + Send + Sync + 'a;

/// A module that calls a closure.
#[derive(Clone)]
pub struct Func<'a> {
    f: Arc<Closure<'a>>,
}

impl fmt::Debug for Func<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("func")
    }
}

impl<'a> Func<'a> {
    /// A module that calls `f`.
    pub fn new(f: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a) -> Self {
        Func { f: Arc::new(f) }
    }
}

impl Module for Func<'_> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        (self.f)(xs)
    }
}

/// A module that calls `f`.
pub fn func<'a>(f: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a) -> Func<'a> {
    Func::new(f)
}

/// A module that calls a closure and tells it whether this is a training step.
#[derive(Clone)]
pub struct FuncT<'a> {
    f: Arc<ClosureT<'a>>,
}

impl fmt::Debug for FuncT<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("func")
    }
}

impl<'a> FuncT<'a> {
    /// A module that calls `f`.
    pub fn new(f: impl Fn(&Tensor, bool) -> Result<Tensor> + Send + Sync + 'a) -> Self {
        FuncT { f: Arc::new(f) }
    }
}

impl ModuleT for FuncT<'_> {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        (self.f)(xs, train)
    }
}

/// A module that calls `f` and tells it whether this is a training step.
pub fn func_t<'a>(f: impl Fn(&Tensor, bool) -> Result<Tensor> + Send + Sync + 'a) -> FuncT<'a> {
    FuncT::new(f)
}
