//! A tensor's place in the graph.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Node;
use super::elements::Counter;
use super::hooks::{AfterHook, Hook};
use crate::Tensor;

/// Where a tensor's gradient goes.
#[derive(Clone)]
pub(crate) enum Edge {
    /// To a leaf.
    Leaf(Tensor),
    /// Into output `.1` of a recorded call.
    Node(Arc<Node>, usize),
}

/// The recorded call that computed a tensor, and which output of it the tensor is.
pub(crate) type Origin = (Arc<Node>, usize);

/// A tensor's place in the graph.
#[derive(Default)]
pub(crate) struct Slot {
    requires_grad: AtomicBool,
    /// How often a recorded in-place call gave the tensor another origin.
    moves: AtomicU32,
    /// For a view: `moves` of its base when the view got its origin.
    seen: AtomicU32,
    /// For a view: whose elements it shows; itself not a view.
    base: Option<Tensor>,
    /// `None` for a leaf.
    origin: Mutex<Option<Origin>>,
    /// What counts changes in place, if it is not the storage; for a view, that of its base counts.
    counter: Option<Counter>,
    /// Tensors that have stood for one leaf share it.
    extra: OnceLock<Arc<Extra>>,
}

/// What few tensors have.
#[derive(Default)]
pub(crate) struct Extra {
    pub(super) grad: Mutex<Option<Tensor>>,
    pub(super) retains_grad: AtomicBool,
    /// A leaf's hooks; those of computed tensors are with the nodes that computed them.
    pub(super) hooks: Numbered<Hook>,
    pub(super) after: Numbered<AfterHook>,
}

/// Hooks with the numbers of their registrations.
type Numbered<H> = Mutex<Vec<(u64, Arc<H>)>>;

/// Locks what no panic leaves half done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    /// The place of a computed tensor.
    pub(crate) fn computed(origin: Origin) -> Self {
        Slot { requires_grad: AtomicBool::new(true), origin: Mutex::new(Some(origin)), ..Slot::default() }
    }

    /// The place of a view of a tensor, not recorded so far.
    pub(crate) fn view_of(tensor: &Tensor) -> Self {
        let base = tensor.slot().base.as_ref().unwrap_or(tensor);
        let seen = AtomicU32::new(base.slot().moves());
        Slot { base: Some(base.clone()), seen, ..Slot::default() }
    }

    pub(super) fn counted_by(self, counter: Option<Counter>) -> Self {
        Slot { counter, ..self }
    }

    #[inline]
    pub(super) fn counter(&self) -> Option<&Counter> {
        self.base.as_ref().map_or(&self.counter, |base| &base.slot().counter).as_ref()
    }

    #[inline]
    pub(crate) fn requires_grad(&self) -> bool {
        match &self.base {
            None => self.requires_grad.load(Ordering::Relaxed),
            Some(base) if self.is_current(base) => self.requires_grad.load(Ordering::Relaxed),
            Some(base) => base.requires_grad(),
        }
    }

    pub(super) fn base(&self) -> Option<&Tensor> {
        self.base.as_ref()
    }

    fn moves(&self) -> u32 {
        self.moves.load(Ordering::Acquire)
    }

    /// Whether the view's origin is that of the elements it shows now.
    pub(super) fn is_current(&self, base: &Tensor) -> bool {
        self.seen.load(Ordering::Acquire) == base.slot().moves()
    }

    pub(super) fn origin(&self) -> Option<Origin> {
        lock(&self.origin).clone()
    }

    /// Replaces the origin of a tensor that needs a gradient; `None` makes it a leaf.
    pub(super) fn set(&self, requires_grad: bool, origin: Option<Origin>) {
        self.requires_grad.store(requires_grad, Ordering::Relaxed);
        let old = std::mem::replace(&mut *lock(&self.origin), origin);
        // Dropped outside of the lock: it may free a long graph.
        drop(old);
    }

    /// As [`Slot::set`] after a change in place: views of the tensor will follow.
    pub(super) fn rewrite(&self, origin: Origin) {
        self.set(true, Some(origin));
        self.moves.fetch_add(1, Ordering::AcqRel);
    }

    /// Gives a view of `base` the origin that `derive` finds for it; returns the old and the new one, unless it was current already.
    pub(super) fn follow(
        &self,
        base: &Tensor,
        derive: impl FnOnce() -> Option<Origin>,
    ) -> Option<(Option<Origin>, Option<Origin>)> {
        let mut origin = lock(&self.origin);
        let moves = base.slot().moves();
        if self.seen.load(Ordering::Acquire) == moves {
            return None;
        }
        let new = derive();
        self.requires_grad.store(new.is_some(), Ordering::Relaxed);
        let old = std::mem::replace(&mut *origin, new.clone());
        self.seen.store(moves, Ordering::Release);
        Some((old, new))
    }

    pub(super) fn extra(&self) -> &Arc<Extra> {
        self.extra.get_or_init(Arc::default)
    }

    /// The same place, with the gradient and the hooks of another, which both change from now on.
    pub(super) fn sharing(self, other: &Slot) -> Self {
        Slot { extra: OnceLock::from(other.extra().clone()), ..self }
    }

    pub(super) fn extra_opt(&self) -> Option<&Extra> {
        self.extra.get().map(Arc::as_ref)
    }
}
