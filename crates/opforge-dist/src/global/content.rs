//! What the storage of a global tensor knows: the distribution, and this rank's part, of each tensor that shows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opforge::operator::Operator;
use opforge::{Device, Meta, Result, Tensor};
use opforge_runtime::Storage;
use rustc_hash::FxHashMap;

use super::World;
use super::device::device_of;
use crate::Distribution;

/// How a tensor lies, and what this rank has of it; nothing on ranks that are not in the placement.
#[derive(Clone)]
pub(crate) struct Part {
    pub distribution: Arc<Distribution>,
    pub local: Option<Tensor>,
}

/// Where the elements of a view are.
#[derive(Clone)]
pub(super) enum Origin {
    /// In the memory of the whole.
    Shared,
    /// In a copy, as ranks had to move them: made after so many writes, by an operator of another view; or, where none is known, of the whole.
    Copied { by: Option<(Meta, Arc<dyn Operator>)>, writes: u64 },
}

/// A tensor over the storage, by its dtype and layout.
#[derive(Clone)]
pub(super) struct Shown {
    pub part: Part,
    pub origin: Origin,
}

/// The elements of a global storage.
///
/// The storage's bytes are those of a row-major tensor; that it lies on several ranks shows here only. Views are other layouts of the same storage, so
/// that everything that knows storages, versions and views (autograd does) is right for global tensors too.
pub(crate) struct Content {
    pub world: Arc<World>,
    /// The whole, row-major.
    pub whole: Meta,
    state: Mutex<State>,
}

pub(super) struct State {
    /// How often elements have been written.
    pub writes: u64,
    shown: FxHashMap<Meta, Shown>,
}

impl Content {
    /// A global tensor like `whole`, which is row-major, on the device of its placement, of which this rank has a part; the part is row-major and no one
    /// else's.
    pub fn tensor(world: &Arc<World>, whole: &Meta, part: Part, device: Device) -> Result<Tensor> {
        let mut shown = FxHashMap::default();
        shown.insert(whole.clone(), Shown { part, origin: Origin::Shared });
        let content =
            Content { world: world.clone(), whole: whole.clone(), state: Mutex::new(State { writes: 0, shown }) };
        let bytes = whole.elem_count() * whole.dtype.size_in_bytes();
        let storage = Storage::scattered(device, bytes, Box::new(content));
        Tensor::over_storage(storage, whole.dtype, whole.layout.clone())
    }

    /// As [`Content::tensor`], of any tensor's dtype and shape.
    pub fn tensor_like(world: &Arc<World>, meta: &Meta, part: Part) -> Result<Tensor> {
        let device = device_of(part.distribution.placement())?;
        Self::tensor(world, &Meta::contiguous(meta.dtype, meta.shape()), part, device)
    }

    /// The content of a tensor's storage, if that is global.
    pub fn of(tensor: &Tensor) -> Option<&Content> {
        tensor.storage().content()?.downcast_ref()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of the whole.
    pub fn part(&self) -> Part {
        // Put there when the content was made, and never taken out.
        let state = self.lock();
        state.shown[&self.whole].part.clone()
    }
}

impl State {
    /// What is known of a view, unless elements have been written since.
    pub fn get(&self, meta: &Meta) -> Option<Shown> {
        let shown = self.shown.get(meta)?;
        let is_current = !matches!(shown.origin, Origin::Copied { writes, .. } if writes != self.writes);
        is_current.then(|| shown.clone())
    }

    /// What is known of a view, though its elements may have changed.
    pub fn origin(&self, meta: &Meta) -> Option<&Origin> {
        self.shown.get(meta).map(|shown| &shown.origin)
    }

    pub fn put(&mut self, meta: Meta, shown: Shown) {
        self.shown.insert(meta, shown);
    }
}
