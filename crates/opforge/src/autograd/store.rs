use std::collections::HashMap;

use crate::{Tensor, TensorId};

/// Gradients by tensor, as [`Tensor::backward`] gives them.
#[derive(Debug, Default)]
pub struct GradStore(HashMap<TensorId, Tensor>);

impl GradStore {
    /// The gradient with respect to a tensor.
    pub fn get(&self, tensor: &Tensor) -> Option<&Tensor> {
        self.0.get(&tensor.id())
    }

    /// The gradient by the tensor's identity.
    pub fn get_id(&self, id: TensorId) -> Option<&Tensor> {
        self.0.get(&id)
    }

    /// Replaces a tensor's gradient; returns the one before.
    pub fn insert(&mut self, tensor: &Tensor, grad: Tensor) -> Option<Tensor> {
        self.0.insert(tensor.id(), grad)
    }

    /// Takes a tensor's gradient out.
    pub fn remove(&mut self, tensor: &Tensor) -> Option<Tensor> {
        self.0.remove(&tensor.id())
    }

    /// The identities of all tensors that have a gradient.
    pub fn get_ids(&self) -> impl Iterator<Item = &TensorId> {
        self.0.keys()
    }
}
