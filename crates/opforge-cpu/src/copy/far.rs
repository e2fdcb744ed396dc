//! Copies that are written past the caches: lines of a large output need not be read from memory before they are written.

use super::plan::copy_run;

/// Bytes of an output that is better written past the caches: less may still be there when it is read.
pub(super) const FAR: usize = 16 << 20;
/// Bytes of a run from which on that is worth its beginning and end.
pub(super) const RUN: usize = 512;

/// Bytes of a line of a cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Copies a run. Whoever has copied some calls [`finish`] before others may read them.
///
/// # Safety
/// As [`copy_run`]; the sides are apart.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    // SAFETY: whole lines lie within the run, `dst` is aligned to them after `head` bytes, and SSE2 is part of x86-64.
    unsafe {
        let head = dst.align_offset(LINE).min(bytes);
        copy_run(src, dst, head);
        let mut at = head;
        while at + LINE <= bytes {
            let (from, to) = (src.add(at).cast::<__m128i>(), dst.add(at).cast::<__m128i>());
            let line: [_; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(i)));
            for (i, part) in line.into_iter().enumerate() {
                _mm_stream_si128(to.add(i), part);
            }
            at += LINE;
        }
        copy_run(src.add(at), dst.add(at), bytes - at);
    }
}

/// Orders what was written past the caches before what this thread writes from here on.
#[cfg(target_arch = "x86_64")]
pub(super) fn finish() {
    // SAFETY: SSE is part of x86-64.
    unsafe { std::arch::x86_64::_mm_sfence() }
}

/// Copies a run.
///
/// # Safety
/// As [`copy_run`].
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize) {
    // SAFETY: as the caller vouches.
    unsafe { copy_run(src, dst, bytes) }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn finish() {}
