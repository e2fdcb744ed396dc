//! Working memory of kernels: what is large comes from the allocator, where it is counted and held to the limit.

use std::cell::Cell;

use opforge_core::Result;
use opforge_runtime::alloc::{Room, Workspace};

/// A cache line, so that buffers start on one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    static BUFFER: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Up to this many bytes each thread keeps for itself: taking them costs next to nothing, and they are too few to be counted.
const KEPT: usize = 64 << 10;

/// Calls `work` with `bytes` bytes of working memory, aligned to 64 and initialised to anything.
///
/// # Errors
/// [`opforge_core::Error::OutOfMemory`]; then `work` has not been called.
#[inline]
pub(crate) fn with_scratch<R>(bytes: usize, work: impl FnOnce(*mut u8) -> R) -> Result<R> {
    if bytes > KEPT {
        let room = Workspace::new(bytes)?;
        return Ok(work(room.as_ptr()));
    }
    // A call inside of a call finds none and makes one of its own.
    let mut buffer = BUFFER.take();
    let lines = bytes.div_ceil(64);
    if buffer.len() < lines {
        buffer = vec![Line([0; 64]); lines];
    }
    let result = work(buffer.as_mut_ptr().cast());
    BUFFER.set(buffer);
    Ok(result)
}

/// Room for `len` elements of a kernel's own: where working memory must not be taken away from what the kernel calls.
///
/// # Errors
/// [`opforge_core::Error::OutOfMemory`].
pub(crate) fn buffer<T: Copy>(len: usize) -> Result<Room<T>> {
    Room::with_capacity(len)
}
