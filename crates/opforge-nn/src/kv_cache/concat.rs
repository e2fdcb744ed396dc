//! A cache whose tensors are concatenated anew at each step.

use opforge::{Result, Tensor};

/// Keys and values so far, joined at each step: no room is kept, so that they take no more memory than they need, and all gradients flow.
#[derive(Debug, Clone)]
pub struct ConcatKvCache {
    held: Option<(Tensor, Tensor)>,
    dim: usize,
}

impl ConcatKvCache {
    /// An empty cache along `dim`.
    pub fn new(dim: usize) -> Self {
        ConcatKvCache { held: None, dim }
    }

    /// The length so far.
    pub fn current_seq_len(&self) -> usize {
        self.k().and_then(|k| k.dims().get(self.dim).copied()).unwrap_or(0)
    }

    /// Whether nothing was appended yet.
    pub fn is_empty(&self) -> bool {
        self.held.is_none()
    }

    /// The dimension that grows.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Appends keys and values; gives all so far.
    ///
    /// # Errors
    /// When dtypes or other dimensions are not those of earlier ones.
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        let joined = match &self.held {
            None => (k.clone(), v.clone()),
            Some((keys, values)) => (Tensor::cat(&[keys, k], self.dim)?, Tensor::cat(&[values, v], self.dim)?),
        };
        Ok(self.held.insert(joined).clone())
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.held = None;
    }

    /// The keys so far.
    pub fn k(&self) -> Option<&Tensor> {
        self.held.as_ref().map(|(k, _)| k)
    }

    /// The values so far.
    pub fn v(&self) -> Option<&Tensor> {
        self.held.as_ref().map(|(_, v)| v)
    }

    /// The keys so far, to be exchanged.
    pub fn k_mut(&mut self) -> Option<&mut Tensor> {
        self.held.as_mut().map(|(k, _)| k)
    }

    /// The values so far, to be exchanged.
    pub fn v_mut(&mut self) -> Option<&mut Tensor> {
        self.held.as_mut().map(|(_, v)| v)
    }

    /// Keys and values.
    pub fn into_inner(self) -> Option<(Tensor, Tensor)> {
        self.held
    }
}
