//! Working memory that each thread keeps from call to call.

use std::cell::Cell;

use opforge_core::{Error, Result};

/// A cache line, so that buffers start on one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    static BUFFER: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Larger buffers than this many lines, 4 MiB, are given back after use.
const KEPT: usize = 1 << 16;

/// Calls `work` with `bytes` bytes of this thread's working memory, aligned to 64 and initialised to anything.
///
/// A call inside of a call gets memory of its own, which is not kept.
pub(crate) fn with_scratch<R>(bytes: usize, work: impl FnOnce(*mut u8) -> R) -> R {
    let mut buffer = BUFFER.take();
    let lines = bytes.div_ceil(64);
    if buffer.len() < lines {
        buffer = vec![Line([0; 64]); lines];
    }
    let result = work(buffer.as_mut_ptr().cast());
    if buffer.len() <= KEPT {
        BUFFER.set(buffer);
    }
    result
}

/// Room for `len` elements of a kernel's own, uninitialised: where working memory must not be taken away from what the kernel calls.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn buffer<T>(len: usize) -> Result<Vec<T>> {
    let mut buffer = Vec::new();
    let requested = len.saturating_mul(size_of::<T>());
    let out_of_memory = |_| Error::OutOfMemory { requested, in_use: 0, limit: isize::MAX as usize };
    buffer.try_reserve_exact(len).map_err(out_of_memory)?;
    Ok(buffer)
}
