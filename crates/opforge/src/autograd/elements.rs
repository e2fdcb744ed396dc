//! Elements as the graph keeps them for backward: at a version, without their tensor's place in the graph.
//!
//! Changes in place by anybody but the call itself (`record.rs`, `preserve.rs`) are found by comparing versions, and are an error of backward. Only
//! `x.data`, [`Tensor::untracked`], has a version of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opforge_runtime::Storage;

use super::Slot;
use crate::Tensor;
use crate::tensor::SharedMeta;

/// A version counter that a tensor has beside its storage's: see [`Tensor::untracked`].
pub(crate) type Counter = Arc<AtomicU64>;

/// A tensor's elements as they were at some version. Holding the tensor itself could be a reference cycle.
#[derive(Clone)]
pub(crate) struct Elements {
    storage: Arc<Storage>,
    counter: Option<Counter>,
    version: u64,
}

impl Elements {
    /// Those that the tensor has now.
    pub(super) fn of(tensor: &Tensor) -> Self {
        let counter = tensor.slot().counter().cloned();
        Elements { storage: tensor.storage().clone(), counter, version: tensor.version() }
    }

    pub(super) fn are_in(&self, storage: &Arc<Storage>) -> bool {
        Arc::ptr_eq(&self.storage, storage)
    }

    /// The same elements, in a copy of their memory.
    pub(super) fn move_to(&mut self, copy: Arc<Storage>) {
        *self = Elements { version: copy.version(), storage: copy, counter: None };
    }

    /// A tensor that shows them.
    pub(super) fn tensor(&self, meta: SharedMeta, slot: Slot) -> Tensor {
        Tensor::with_slot(meta, self.storage.clone(), slot.counted_by(self.counter.clone()))
    }

    fn version_now(&self) -> u64 {
        version(self.counter.as_ref(), &self.storage)
    }

    /// What to say if they were changed in place since.
    pub(super) fn changed(&self) -> Option<String> {
        let (saved, now) = (self.version, self.version_now());
        let text = || {
            format!(
                "one of the variables needed for gradient computation has been modified by an inplace operation: \
                 it is at version {now}; expected version {saved} instead"
            )
        };
        (saved != now).then(text)
    }
}

fn version(counter: Option<&Counter>, storage: &Storage) -> u64 {
    counter.map_or_else(|| storage.version(), |counter| counter.load(Ordering::Acquire))
}

impl Tensor {
    /// How often the elements have been changed in place.
    pub fn version(&self) -> u64 {
        version(self.slot().counter(), self.storage())
    }

    /// Counts a change in place, so that a backward which saved the elements before is an error. Interpreters do it.
    pub fn bump_version(&self) {
        match self.slot().counter() {
            None => self.storage().bump_version(),
            Some(counter) => {
                counter.fetch_add(1, Ordering::AcqRel);
                self.storage().bump_changes();
            }
        }
    }

    /// As [`Tensor::detach`], with a version counter of its own: backward does not notice what is changed in place through this tensor and
    /// its views, nor do these notice changes elsewhere. Whoever changes elements that backward will read gets wrong gradients.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, Var};
    /// let x = Var::new(&[1f32, 2.0], &Device::Cpu)?;
    /// x.untracked().const_set(3f32.into())?;
    /// assert_eq!((x.to_vec1::<f32>()?, x.version()), (vec![3.0, 3.0], 0));
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn untracked(&self) -> Tensor {
        let slot = Slot::default().counted_by(Some(Counter::default()));
        Tensor::with_slot(self.shared_meta().clone(), self.storage().clone(), slot)
    }

    /// As [`Tensor::untracked`], to stand where the leaf `place` stood: the same tensor to gradients, which has other elements from now on. What calls before
    /// have computed of `place` still has its gradient by the elements that they saw, added to what both have as [`Tensor::grad`]; hooks are those of both.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, Var, autograd};
    /// let x = Var::new(&[1f32, 2.0], &Device::Cpu)?;
    /// let y = x.sqr()?.sum_all()?;
    /// let other = Tensor::new(&[3f32, 4.0], &Device::Cpu)?.untracked_in_place_of(&x);
    /// other.set_requires_grad(true)?;
    /// autograd::accumulate(&[(y, None)], None, Default::default())?;
    /// assert_eq!(other.grad().unwrap().to_vec1::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn untracked_in_place_of(&self, place: &Tensor) -> Tensor {
        let slot = Slot::default().counted_by(Some(Counter::default())).sharing(place.slot());
        Tensor::standing_for(place, self.shared_meta().clone(), self.storage().clone(), slot)
    }
}
