//! What the VM knows about a storage.

use std::sync::Arc;

use smallvec::SmallVec;

use super::failure::Failure;
use crate::sync::UnsafeCell;

/// The index of a stream in the VM's table.
pub(crate) type Slot = u32;

/// The `seq`-th instruction of a stream. The default ticket is one that has always been done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub stream: Slot,
    pub seq: u64,
}

/// Who uses a storage.
#[derive(Default)]
pub(crate) struct Deps {
    /// The last instruction that writes it.
    pub write: Ticket,
    /// The instructions that read it since, the last of each stream.
    pub reads: SmallVec<[Ticket; 1]>,
    /// How many host reads are in progress.
    pub host_reads: u32,
    /// Whether a host write is in progress.
    pub host_write: bool,
    /// Why its content is unusable: for good or, if `passing`, until somebody who reads it has been told.
    poison: Option<Arc<Failure>>,
    passing: bool,
}

impl Deps {
    #[inline]
    pub fn add_read(&mut self, ticket: Ticket) {
        match self.reads.iter_mut().find(|read| read.stream == ticket.stream) {
            Some(read) => read.seq = ticket.seq,
            None => self.reads.push(ticket),
        }
    }

    #[inline]
    pub fn set_write(&mut self, ticket: Ticket) {
        self.write = ticket;
        self.reads.clear();
    }

    /// Why its content is unusable now.
    #[inline]
    pub fn poison(&self) -> Option<&Arc<Failure>> {
        self.poison.as_ref()
    }

    /// Makes the content unusable for good.
    pub fn set_poison(&mut self, failure: Arc<Failure>) {
        (self.poison, self.passing) = (Some(failure), false);
    }

    /// Makes the content unusable until somebody has been told why.
    pub fn set_passing_poison(&mut self, failure: Arc<Failure>) {
        (self.poison, self.passing) = (Some(failure), true);
    }

    #[inline]
    pub fn clear_poison(&mut self) {
        self.poison = None;
    }

    /// Whether the content is usable again once somebody has been told why it was not.
    pub fn is_passing(&self) -> bool {
        self.passing && self.poison.is_some()
    }

    #[inline]
    pub fn host_idle(&self) -> bool {
        self.host_reads == 0 && !self.host_write
    }
}

/// The right to look into [`Guarded`] values. The VM has the only one, inside of its lock.
pub(crate) struct Token(());

impl Token {
    /// # Safety
    /// At most one token may exist among those that meet the same guarded values.
    pub unsafe fn new() -> Self {
        Token(())
    }
}

/// A value that belongs to the VM's locked state, though it is stored elsewhere.
pub(crate) struct Guarded<T>(UnsafeCell<T>);

// SAFETY: the value is only reached through `&mut Token`, of which there is one: one thread at a time, synchronised by the VM's lock.
unsafe impl<T: Send> Sync for Guarded<T> {}
// SAFETY: it holds nothing but the value, which may be sent.
unsafe impl<T: Send> Send for Guarded<T> {}

impl<T> Guarded<T> {
    #[inline]
    pub fn new(value: T) -> Self {
        Guarded(UnsafeCell::new(value))
    }

    /// The value, for as long as the token is borrowed.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn get<'a>(&'a self, _: &'a mut Token) -> &'a mut T {
        // SAFETY: there is one token, and this borrows it exclusively for the lifetime of the result.
        self.0.with_mut(|value| unsafe { &mut *value })
    }
}
