//! Reverse-mode differentiation: the recorded graph, the engine that walks it, and what operators see of it.
//!
//! A tensor that needs a gradient has an edge to the node that made it (or to itself, when it is a leaf). Nodes are numbered as they are made, so
//! descending numbers are a topological order: the engine is a loop over a priority queue, never a recursion. Backward functions are made of
//! operators and can be recorded in turn, which gives derivatives of any order.

mod backward;
mod engine;
mod mode;
mod node;
mod store;
mod var;

pub use backward::Backward;
pub use engine::{BackwardOptions, backward, grad};
pub use mode::{GradMode, enable_grad, is_grad_enabled, no_grad};
pub(crate) use node::{Before, Node, record};
pub use store::GradStore;
pub use var::Var;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Result, Tensor, TensorId};

/// Where a tensor's gradient goes.
#[derive(Clone)]
pub(crate) enum Edge {
    /// Into the gradient store, under the leaf's identity.
    Leaf(TensorId),
    /// Into output `.1` of a recorded operator.
    Node(Arc<Node>, usize),
}

/// A tensor's place in the graph.
#[derive(Default)]
pub(crate) struct Slot {
    requires_grad: AtomicBool,
    /// With the storage's version when the edge was set.
    edge: Mutex<Option<(Edge, u64)>>,
}

impl Slot {
    pub(crate) fn new(edge: Edge, version: u64) -> Self {
        Slot { requires_grad: AtomicBool::new(true), edge: Mutex::new(Some((edge, version))) }
    }

    pub(crate) fn requires_grad(&self) -> bool {
        self.requires_grad.load(Ordering::Relaxed)
    }

    fn stamped_edge(&self) -> Option<(Edge, u64)> {
        if !self.requires_grad() {
            return None;
        }
        self.edge.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn edge(&self) -> Option<Edge> {
        self.stamped_edge().map(|(edge, _)| edge)
    }

    pub(crate) fn set(&self, edge: Option<Edge>, version: u64) {
        self.requires_grad.store(edge.is_some(), Ordering::Relaxed);
        let edge = edge.map(|edge| (edge, version));
        let old = std::mem::replace(&mut *self.edge.lock().unwrap_or_else(PoisonError::into_inner), edge);
        // Dropped outside of the lock: it may free a long graph.
        drop(old);
    }

    pub(crate) fn is_leaf(&self) -> bool {
        !matches!(self.edge(), Some(Edge::Node(..)))
    }
}

impl Tensor {
    /// Whether gradients flow to this tensor.
    pub fn requires_grad(&self) -> bool {
        self.slot().requires_grad()
    }

    /// Whether this tensor was not computed from others that need a gradient.
    pub fn is_leaf(&self) -> bool {
        self.slot().is_leaf()
    }

    /// Where this tensor's gradient goes. A leaf's elements may change; those of a computed tensor must be as they were computed, or the
    /// gradient would be that of something else.
    ///
    /// # Errors
    /// When they were changed in place through another tensor.
    pub(crate) fn current_edge(&self, op: &'static str) -> Result<Option<Edge>> {
        let Some((edge, version)) = self.slot().stamped_edge() else { return Ok(None) };
        match &edge {
            Edge::Node(node, _) if version != self.version() => {
                let given = format!("version {}, computed as version {version} at {}", self.version(), node.at);
                let accepted = "a tensor not changed in place through another one that shares its storage";
                Err(Error::autograd(op, "input", given, accepted))
            }
            _ => Ok(Some(edge)),
        }
    }

    /// Makes a leaf collect gradients, or stop doing so.
    ///
    /// # Errors
    /// For dtypes without gradients, and when asked to stop on a tensor that is not a leaf.
    pub fn set_requires_grad(&self, requires_grad: bool) -> Result<()> {
        if !self.is_leaf() {
            if requires_grad {
                return Ok(());
            }
            return Err(Error::autograd("set_requires_grad", "tensor", "a computed tensor", "a leaf; see detach"));
        }
        if requires_grad && !self.dtype().is_float() && !self.dtype().is_complex() {
            return Err(Error::dtype("set_requires_grad", "dtype", self.dtype(), "a floating-point dtype"));
        }
        self.slot().set(requires_grad.then(|| Edge::Leaf(self.id())), self.version());
        Ok(())
    }

    /// The same elements (shared storage) under a new identity, outside of the graph.
    pub fn detach(&self) -> Tensor {
        Tensor::from_parts(self.meta().clone(), self.storage().clone())
    }

    /// The gradients of this tensor's sum with respect to the variables it was computed from.
    ///
    /// # Errors
    /// When the graph was already freed by an earlier backward, a saved tensor was changed in place, or an operator has no gradient.
    #[track_caller]
    pub fn backward(&self) -> Result<GradStore> {
        backward(&[(self.clone(), None)], BackwardOptions::default())
    }
}
