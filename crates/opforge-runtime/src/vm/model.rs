//! The VM as loom's models see it: a machine of their own, whose workers they start themselves.

use std::sync::Arc;

use opforge_core::Result;

use super::deps::Slot;
use super::state::Worker;
use super::{Call, ReadGuard, WriteGuard, machine};
use crate::storage::Storage;

/// A machine. Clones are the same machine.
#[derive(Clone)]
pub struct Vm(Arc<machine::Vm>);

#[allow(clippy::missing_errors_doc)]
impl Vm {
    /// A machine with one stream, number 0.
    ///
    /// # Safety
    /// A storage may be used with one machine only.
    pub unsafe fn new() -> Self {
        // SAFETY: storages that this machine meets are used with no other.
        Vm(Arc::new(unsafe { machine::Vm::new() }))
    }
    /// Opens a stream.
    pub fn open_stream(&self) -> Slot {
        self.0.lock().open_stream()
    }
    /// Ends a stream once everything on it has run.
    pub fn close_stream(&self, slot: Slot) {
        self.0.close_stream(slot);
    }
    /// Starts a stream's worker.
    pub fn start_worker(&self, slot: Slot) -> loom::thread::JoinHandle<()> {
        self.0.lock().stream(slot).worker = Worker::Awake;
        let vm = self.clone();
        loom::thread::spawn(move || vm.0.work(slot))
    }
    /// As [`super::submit`].
    ///
    /// # Safety
    /// As for [`super::submit`].
    pub unsafe fn submit(&self, slot: Slot, call: &Call<'_>) -> Result<()> {
        // SAFETY: the call is as `submit` demands: its kernel was prepared for these tensors, within their storages.
        unsafe { self.0.submit(slot, call) }
    }
    /// As [`super::read`].
    pub fn read<'a>(&'a self, storage: &'a Storage) -> Result<ReadGuard<'a>> {
        self.0.read(storage)
    }
    /// As [`super::write`].
    pub fn write<'a>(&'a self, storage: &'a Storage) -> Result<WriteGuard<'a>> {
        self.0.write(storage)
    }
    /// As [`super::set_run_ahead`].
    pub fn set_max_queued(&self, instructions: usize) {
        self.0.max_queued.store(instructions, std::sync::atomic::Ordering::Relaxed);
    }
}
