use std::sync::Arc;

use super::node::{Node, Saved};
use super::reach::Reach;
use crate::{Device, Error, Meta, Result, Tensor};

/// What an operator's backward sees: the outputs' gradients, and what the operator asked to be saved.
pub struct Backward<'a> {
    pub(crate) node: &'a Arc<Node>,
    pub(crate) saved: Saved,
    pub(crate) grads: &'a [Option<Tensor>],
    /// Where gradients are asked for, if not everywhere.
    pub(super) reach: Option<&'a Reach>,
}

impl Backward<'_> {
    /// The gradient of output `i`, zeros if nothing depended on it.
    pub fn grad(&self, i: usize) -> Result<Tensor> {
        match self.grads.get(i) {
            Some(Some(grad)) => Ok(grad.clone()),
            Some(None) => {
                let meta = &self.node.outputs[i];
                Tensor::zeros(meta.shape(), meta.dtype, &self.node.device)
            }
            None => Err(Error::index(
                self.node.action.name().to_owned(),
                "output",
                i,
                format!("below {}", self.grads.len()),
            )),
        }
    }

    /// The gradient of output `i`, if anything depended on it.
    pub fn grad_opt(&self, i: usize) -> Option<&Tensor> {
        self.grads.get(i).and_then(Option::as_ref)
    }

    /// Input `i` as it was; an error if it was changed in place since.
    pub fn input(&self, i: usize) -> Result<Tensor> {
        self.saved.input(self.node, i)
    }

    /// Output `i` as it was; an error if it was changed in place since.
    pub fn output(&self, i: usize) -> Result<Tensor> {
        self.saved.output(self.node, i)
    }

    /// Dtype and layout of input `i`, known whether it was saved or not.
    pub fn input_meta(&self, i: usize) -> &Meta {
        &self.node.inputs[i]
    }

    /// Dtype and layout of output `i`.
    pub fn output_meta(&self, i: usize) -> &Meta {
        &self.node.outputs[i]
    }

    /// The device of the call.
    pub fn device(&self) -> &Device {
        &self.node.device
    }

    /// The number of inputs.
    pub fn input_count(&self) -> usize {
        self.node.inputs.len()
    }

    /// The number of outputs.
    pub fn output_count(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether the gradient of input `i` is wanted.
    pub fn needs(&self, i: usize) -> bool {
        let edge = self.node.edges.get(i).and_then(Option::as_ref);
        edge.is_some_and(|edge| self.reach.is_none_or(|reach| reach.contains(edge)))
    }

    /// `f()` if the gradient of input `i` is wanted.
    pub fn when(&self, i: usize, f: impl FnOnce() -> Result<Tensor>) -> Result<Option<Tensor>> {
        if self.needs(i) { f().map(Some) } else { Ok(None) }
    }
}
