//! Working memory of a kernel, given back when it is dropped.

use std::ptr::NonNull;

use opforge_core::Result;

/// Memory that a kernel works in while it runs: a block of the allocator's, given back when dropped.
pub struct Workspace {
    block: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: the block is owned, and an address may be used from any thread.
unsafe impl Send for Workspace {}
// SAFETY: the block is owned, and sharing the workspace hands out its address only.
unsafe impl Sync for Workspace {}

impl Workspace {
    /// `nbytes` bytes, initialised to anything and aligned to [`super::ALIGNMENT`].
    ///
    /// # Errors
    /// [`opforge_core::Error::OutOfMemory`] beyond the limit or the system's memory.
    pub fn new(nbytes: usize) -> Result<Self> {
        let nbytes = nbytes.max(1);
        Ok(Workspace { block: super::allocate(nbytes)?, nbytes })
    }

    /// The first byte.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.block.as_ptr()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // SAFETY: the block came from `allocate` with this size, and its owner goes away.
        unsafe { super::free(self.block, self.nbytes) };
    }
}
