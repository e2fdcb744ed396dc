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
pub(crate) use node::{Node, Versions, record};
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
    edge: Mutex<Option<Edge>>,
}

impl Slot {
    pub(crate) fn new(edge: Edge) -> Self {
        Slot { requires_grad: AtomicBool::new(true), edge: Mutex::new(Some(edge)) }
    }

    pub(crate) fn requires_grad(&self) -> bool {
        self.requires_grad.load(Ordering::Relaxed)
    }

    pub(crate) fn edge(&self) -> Option<Edge> {
        if !self.requires_grad() {
            return None;
        }
        self.edge.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, edge: Option<Edge>) {
        self.requires_grad.store(edge.is_some(), Ordering::Relaxed);
        let old = std::mem::replace(&mut *self.edge.lock().unwrap_or_else(PoisonError::into_inner), edge);
        // Dropped outside of the lock: it may free a long graph.
        drop(old);
    }

    pub(crate) fn is_leaf(&self) -> bool {
        !matches!(self.edge(), Some(Edge::Node(..)))
    }
}

impl Edge {
    fn same(&self, other: &Edge) -> bool {
        match (self, other) {
            (Edge::Leaf(a), Edge::Leaf(b)) => a == b,
            (Edge::Node(a, i), Edge::Node(b, j)) => Arc::ptr_eq(a, b) && i == j,
            _ => false,
        }
    }
}

/// Whether a tensor is a view, recorded as one.
pub(crate) fn is_view(tensor: &Tensor) -> bool {
    matches!(tensor.slot().edge(), Some(Edge::Node(node, _)) if node.base.is_some())
}

/// Refuses a view whose base was changed in place, by a recorded call, after the view was taken: its recorded history is not that of its
/// elements.
pub(crate) fn check_history(op: &'static str, tensor: &Tensor) -> Result<()> {
    let mut edge = tensor.slot().edge();
    while let Some(Edge::Node(node, _)) = edge {
        let Some(base) = &node.base else { break };
        let now = base.slot().edge();
        let unchanged = match (&now, &node.edges[0]) {
            (Some(now), Some(then)) => now.same(then),
            (now, then) => now.is_none() == then.is_none(),
        };
        if !unchanged {
            let accepted = "views taken after the last in-place change of what they show";
            return Err(Error::autograd(op, "input", "a view of a tensor that was changed in place since", accepted));
        }
        edge = now;
    }
    Ok(())
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
        self.slot().set(requires_grad.then(|| Edge::Leaf(self.id())));
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
