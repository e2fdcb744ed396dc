//! The caching allocator of tensor memory.
//!
//! Small blocks (up to 256 KiB) are cut from slabs of 2 MiB and recycled by size class; large ones are cut from mappings of up to 32 MiB, so that they
//! lie in huge pages, and recycled by best fit. Freed memory is kept for the next request until [`empty_cache`] is called or the [`limit`] is reached. All memory is
//! initialised: zero when it comes from the system, the remains of earlier data when it is recycled.

mod heap;
mod limit;
mod room;
mod size;
mod system;
mod workspace;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use heap::Heap;
use opforge_core::{Error, Result};
pub use room::Room;
pub use workspace::Workspace;

/// What every block's address is a multiple of, in bytes.
pub const ALIGNMENT: usize = 512;

/// Figures of the allocator, in bytes and in calls. Bytes count whole blocks, requests rounded up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The blocks handed out.
    pub in_use: usize,
    /// What is held for later requests.
    pub cached: usize,
    /// The most that was ever in use since the last [`reset_peak`].
    pub peak: usize,
    /// How often memory was asked for.
    pub allocations: u64,
    /// How many of those were answered with recycled memory.
    pub reused: u64,
    /// How often memory was given back.
    pub frees: u64,
}

static HEAP: Mutex<Heap> = Mutex::new(Heap::new());

/// The most bytes that may be in use; 0 until it is first asked for or set.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

#[inline]
pub(crate) fn lock() -> MutexGuard<'static, Heap> {
    HEAP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The figures now.
pub fn stats() -> Stats {
    lock().stats()
}

/// Starts a new measurement of the peak.
pub fn reset_peak() {
    lock().reset_peak();
}

/// The most bytes that may be in use. At first the physical memory that this process may use.
#[inline]
pub fn limit() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        0 => default_limit(),
        limit => limit,
    }
}

#[cold]
fn default_limit() -> usize {
    let default = limit::physical_memory().max(1);
    match LIMIT.compare_exchange(0, default, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => default,
        Err(already_set) => already_set,
    }
}

/// Sets the most bytes that may be in use. What is beyond it already stays valid.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

/// Gives cached memory back to the system.
pub fn empty_cache() {
    lock().empty_cache();
}

/// Refuses a request that could not be met even if nothing were in use.
///
/// # Errors
/// [`Error::OutOfMemory`] for more bytes than [`limit`].
#[inline]
pub fn check_request(nbytes: usize) -> Result<()> {
    if nbytes <= limit() { Ok(()) } else { Err(too_large(nbytes)) }
}

/// The bytes that any call may take unasked.
pub(crate) const UNASKED: usize = 1 << 20;

/// Refuses to begin with what needs `nbytes` bytes of memory that is not the allocator's, in pieces (lists, tables), where they could not be had now.
///
/// # Errors
/// [`Error::OutOfMemory`] beyond the limit or the system's memory.
#[inline]
pub fn check_available(nbytes: usize) -> Result<()> {
    if nbytes <= UNASKED { Ok(()) } else { probe(nbytes) }
}

#[cold]
fn probe(nbytes: usize) -> Result<()> {
    if stats().in_use.saturating_add(nbytes) > limit() || !system::can_map(nbytes) {
        return Err(too_large(nbytes));
    }
    Ok(())
}

/// A vector of the process's own memory with a known number of elements.
///
/// # Errors
/// As [`check_available`].
pub fn vec_of<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let nbytes = values.len().saturating_mul(size_of::<T>());
    check_available(nbytes)?;
    let mut vec = Vec::new();
    vec.try_reserve_exact(values.len()).map_err(|_| too_large(nbytes))?;
    vec.extend(values);
    Ok(vec)
}

#[cold]
fn too_large(nbytes: usize) -> Error {
    Error::OutOfMemory { requested: nbytes, in_use: stats().in_use, limit: limit() }
}

/// A block of at least `nbytes` initialised bytes; [`free`] takes it back.
///
/// # Errors
/// [`Error::OutOfMemory`] when the limit or the system's memory is exhausted, also after giving up the cache.
#[inline]
pub(crate) fn allocate(nbytes: usize) -> Result<NonNull<u8>> {
    let limit = limit();
    lock().allocate(nbytes, limit)
}

/// Takes back a block.
///
/// # Safety
/// `block` came from [`allocate`] with the same `nbytes` and is not used any more.
#[inline]
pub(crate) unsafe fn free(block: NonNull<u8>, nbytes: usize) {
    // SAFETY: the block is one of this heap's, of the same `nbytes`, and nobody uses it any more.
    unsafe { lock().free(block, nbytes) };
}
