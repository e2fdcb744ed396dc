//! Memory asked for before it is read.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;
/// Bytes of a contiguous run that are worth asking for; the processor goes on by itself.
pub(crate) const RUN: usize = 2 << 10;

/// Asks for `bytes` bytes from `at` on to be brought into the cache. Nothing happens where memory is not readable, nor where the processor has no
/// such instruction here.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: the instruction changes caches only, and does not fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(offset).cast()) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at.wrapping_add(offset);
    }
}
