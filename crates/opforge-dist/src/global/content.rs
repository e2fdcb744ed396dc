//! What the storage of a global tensor knows: the distribution, and this rank's part, of each tensor that shows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opforge::operator::Operator;
use opforge::{Device, Error, Meta, Result, Tensor};
use opforge_runtime::Storage;
use rustc_hash::FxHashMap;

use super::World;
use super::device::device_of;
use crate::Distribution;
use crate::planner::Held;

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
    /// The memory of the part, where ranks are simulated.
    _held: Option<Held>,
}

pub(super) struct State {
    /// How often elements have been written.
    pub writes: u64,
    shown: FxHashMap<Meta, Shown>,
    /// The memory of views that are copies, where ranks are simulated.
    held: FxHashMap<Meta, Held>,
}

impl Content {
    /// A global tensor like `whole`, which is row-major, on the device of its placement, of which this rank has a part; the part is row-major and no one
    /// else's.
    pub fn tensor(world: &Arc<World>, whole: &Meta, part: Part, device: Device) -> Result<Tensor> {
        let held = held(world, whole, &part.distribution);
        let (mut shown, copies) = (FxHashMap::default(), FxHashMap::default());
        shown.insert(whole.clone(), Shown { part, origin: Origin::Shared });
        let state = Mutex::new(State { writes: 0, shown, held: copies });
        let content = Content { world: world.clone(), whole: whole.clone(), state, _held: held };
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

    /// The content of the storage of a tensor that must be global.
    ///
    /// # Errors
    /// A local tensor.
    pub fn required(tensor: &Tensor) -> Result<&Content> {
        Self::of(tensor).ok_or_else(|| Error::device("global", "input", tensor.device(), "a placement"))
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

    pub fn put(&mut self, world: &World, meta: Meta, shown: Shown) {
        if let (Origin::Copied { .. }, Some(held)) = (&shown.origin, held(world, &meta, &shown.part.distribution)) {
            self.held.insert(meta.clone(), held);
        }
        self.shown.insert(meta, shown);
    }
}

/// The memory of the largest part, where ranks are simulated.
fn held(world: &World, meta: &Meta, distribution: &Distribution) -> Option<Held> {
    Some(world.ledger()?.hold(distribution.part(meta.shape(), 0).len() * meta.dtype.size_in_bytes()))
}
