//! Reverse-mode differentiation: the recorded graph, the engine that walks it, and what operators see of it.
//!
//! A tensor that needs a gradient has an edge to the node that made it (or to itself, when it is a leaf). Nodes are numbered as they are made, so
//! descending numbers are a topological order: the engine is a loop over a priority queue, never a recursion. Backward functions are made of
//! operators and can be recorded in turn, which gives derivatives of any order.
//!
//! One engine serves both front ends: [`backward`] gives gradients away in a [`GradStore`] (candle's way), [`accumulate`] adds them to
//! [`Tensor::grad`] (PyTorch's), [`grad`] finds those of some tensors. Hooks see gradients on their way; in-place changes are followed through
//! views.

mod anomaly;
mod backward;
mod broadcast;
mod countdown;
mod elements;
mod ending;
mod engine;
mod function;
mod grad;
mod grad_fn;
mod hooks;
mod mode;
mod node;
mod preserve;
mod reach;
mod record;
mod slot;
mod store;
mod var;
mod view;

pub use anomaly::set_nan_checks;
pub use backward::Backward;
pub use broadcast::sum_to;
pub use ending::{Ending, at_the_end};
pub use engine::{BackwardOptions, accumulate, backward, check_roots, grad, leaf_gradients};
pub(crate) use function::record_view;
pub use function::{FunctionBackward, SavedTensor, record_function, record_function_in_place};
pub use grad_fn::GradFn;
pub use hooks::{AfterHook, Hook, HookId};
pub use mode::{GradMode, enable_grad, is_grad_enabled, no_grad};
pub(crate) use node::Node;
pub(crate) use preserve::Moment;
pub use reach::is_freed;
pub(crate) use record::{Kept, record};
pub(crate) use slot::Slot;
pub use store::GradStore;
pub use var::Var;
pub(crate) use view::{check_write, has_history};

use std::borrow::Cow;

use slot::Edge;

use crate::{Error, Result, Tensor};

impl Tensor {
    /// Whether gradients flow to this tensor.
    pub fn requires_grad(&self) -> bool {
        self.slot().requires_grad()
    }

    /// Whether this tensor was not computed from others that need a gradient.
    pub fn is_leaf(&self) -> bool {
        !matches!(self.edge(), Some(Edge::Node(..)))
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
            let given = "you can only change requires_grad flags of leaf variables.";
            return Err(Error::autograd("set_requires_grad", "tensor", given, "a leaf; see detach"));
        }
        if requires_grad && !self.dtype().is_differentiable() {
            return Err(Error::dtype(
                "set_requires_grad",
                "dtype",
                self.dtype(),
                "only Tensors of floating point dtype can require gradients",
            ));
        }
        self.slot().set(requires_grad, None);
        Ok(())
    }

    /// The same elements (shared storage) under a new identity, outside of the graph.
    pub fn detach(&self) -> Tensor {
        let slot = Slot::default().counted_by(self.slot().counter().cloned());
        Tensor::with_slot(self.shared_meta().clone(), self.storage().clone(), slot)
    }

    /// This tensor if it is outside of the graph, else [`Tensor::detach`].
    pub(crate) fn unrecorded(&self) -> Cow<'_, Tensor> {
        if self.requires_grad() { Cow::Owned(self.detach()) } else { Cow::Borrowed(self) }
    }

    /// Makes this tensor a leaf that needs no gradient, with the elements that it has.
    ///
    /// # Errors
    /// For a view, whose history is that of its base.
    pub fn detach_(&self) -> Result<()> {
        if self.base().is_some() {
            let given = "Can't detach views in-place. Use detach() instead.";
            return Err(Error::autograd("detach_", "tensor", given, "a tensor that is not a view"));
        }
        self.slot().set(false, None);
        Ok(())
    }

    /// The gradients of this tensor's sum with respect to the variables it was computed from. Of a tensor outside of the graph there is only
    /// its own, of ones.
    ///
    /// The graph is kept as long as its tensors: several backwards may go through what they share. [`backward`] and [`accumulate`] free it on
    /// their way, unless [`BackwardOptions::retain_graph`] says otherwise.
    ///
    /// # Errors
    /// When the graph was freed by an earlier backward of those, a saved tensor was changed in place, or an operator has no gradient.
    #[track_caller]
    pub fn backward(&self) -> Result<GradStore> {
        let retained = BackwardOptions { retain_graph: true, ..BackwardOptions::default() };
        let mut store = backward(&[(self.clone(), None)], retained)?;
        if !self.requires_grad() {
            store.insert(self, Tensor::ones(self.shape(), self.dtype(), self.device())?);
        }
        Ok(store)
    }
}
