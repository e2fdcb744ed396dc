//! What an operator's backward sees of its call, and of the gradients that reach it.

use std::sync::Arc;

use super::node::{Node, Saved};
use super::reach::Reach;
use super::slot::Edge;
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

    /// Zeros like input `i`, for a gradient to be written into. They lie where it does, if it is a leaf or its call has kept it.
    pub fn zeros(&self, i: usize) -> Result<Tensor> {
        let meta = self.input_meta(i);
        let is_like = |model: &Tensor| model.shape() == meta.shape() && model.dtype() == meta.dtype;
        let model = match self.device() {
            Device::Added(_) => self.model(i).filter(is_like),
            _ => None,
        };
        match model {
            Some(model) => model.detach().zeros_like(),
            None => Tensor::zeros(meta.shape(), meta.dtype, self.device()),
        }
    }

    /// Input `i`, if it is at hand, whatever elements it has by now.
    fn model(&self, i: usize) -> Option<Tensor> {
        match self.node.edges.get(i)?.as_ref()? {
            Edge::Leaf(leaf) => Some(leaf.clone()),
            Edge::Node(node, output) => node.kept_output(*output),
        }
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
