//! Modules one after the other.

use opforge::{Module, Result, Tensor};

/// Modules one after the other.
#[derive(Default)]
pub struct Sequential {
    layers: Vec<Box<dyn Module>>,
}

/// An empty chain: it changes nothing.
pub fn seq() -> Sequential {
    Sequential::default()
}

impl Sequential {
    /// The number of modules.
    pub fn len(&self) -> i64 {
        self.layers.len() as i64
    }

    /// Whether there are no modules.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The chain with a module at its end.
    #[allow(clippy::should_implement_trait)]
    pub fn add<M: Module + 'static>(mut self, layer: M) -> Self {
        self.layers.push(Box::new(layer));
        self
    }

    /// The chain with a closure at its end.
    pub fn add_fn<F>(self, f: F) -> Self
    where
        F: Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    {
        self.add(crate::func(f))
    }

    /// The results of all modules in order.
    ///
    /// # Errors
    /// The first module's that fails.
    pub fn forward_all(&self, xs: &Tensor) -> Result<Vec<Tensor>> {
        let mut results: Vec<Tensor> = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let next = layer.forward(results.last().unwrap_or(xs))?;
            results.push(next);
        }
        Ok(results)
    }
}

impl Module for Sequential {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.layers.iter().try_fold(xs.clone(), |xs, layer| layer.forward(&xs))
    }
}
