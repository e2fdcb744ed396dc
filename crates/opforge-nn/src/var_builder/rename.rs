//! Tensors under other names.

use std::borrow::Cow;

use opforge::{DType, Device, Result, Shape, Tensor};

use super::{SimpleBackend, VarBuilder};
use crate::Init;

/// What gives tensors other names.
pub trait Renamer {
    /// The name by which a builder knows the tensor that is asked for by this name.
    fn rename(&self, name: &str) -> Cow<'_, str>;
}

impl<F: Fn(&str) -> String> Renamer for F {
    fn rename(&self, name: &str) -> Cow<'_, str> {
        Cow::Owned(self(name))
    }
}

/// A builder's tensors under other names: see [`VarBuilder::rename`].
pub struct Rename<'a, R: Renamer> {
    inner: VarBuilder<'a>,
    renamer: R,
}

impl<'a, R: Renamer> Rename<'a, R> {
    /// Names from the builder's root on.
    pub fn new(inner: VarBuilder<'a>, renamer: R) -> Self {
        Rename { inner: inner.root(), renamer }
    }
}

impl<R: Renamer + Send + Sync> SimpleBackend for Rename<'_, R> {
    fn get(&self, shape: Shape, name: &str, init: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        self.inner.backend.get(shape, &self.renamer.rename(name), init, dtype, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        self.inner.backend.get_unchecked(&self.renamer.rename(name), dtype, device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.inner.backend.contains_tensor(&self.renamer.rename(name))
    }
}
