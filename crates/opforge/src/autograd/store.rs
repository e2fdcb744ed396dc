//! Gradients by tensor.

use std::collections::HashMap;

use crate::{Result, Tensor, TensorId};

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

    /// As [`GradStore::insert`], by the tensor's identity.
    pub fn insert_id(&mut self, id: TensorId, grad: Tensor) -> Option<Tensor> {
        self.0.insert(id, grad)
    }

    /// Takes over another's gradients; where both have one, their sum.
    ///
    /// # Errors
    /// For gradients of one tensor that do not go together, which those of [`Tensor::backward`] do.
    pub fn extend(&mut self, other: Self) -> Result<()> {
        for (id, grad) in other.0 {
            let sum = self.0.get(&id).map_or(Ok(grad.clone()), |own| own.add(&grad))?;
            self.0.insert(id, sum);
        }
        Ok(())
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
