//! Elements that lie apart, brought together to be folded as a row.

/// Copies `n` elements, `stride` apart, to neighbouring places.
///
/// # Safety
/// `from` is readable for these elements, and `to` writable for `n`.
#[inline(never)]
pub(super) unsafe fn gather<T: Copy>(from: *const T, stride: usize, to: *mut T, n: usize) {
    // Of these distances the compiler makes shuffles of whole vectors.
    // SAFETY: what the caller vouches for.
    unsafe {
        match stride {
            2 => every(from, 2, to, n),
            3 => every(from, 3, to, n),
            4 => every(from, 4, to, n),
            _ => every(from, stride, to, n),
        }
    }
}

/// # Safety
/// As [`gather`].
#[inline(always)]
unsafe fn every<T: Copy>(from: *const T, stride: usize, to: *mut T, n: usize) {
    for i in 0..n {
        // SAFETY: `i` is below `n`: `from` is readable there at the stride, and `to` writable.
        unsafe { to.add(i).write(from.add(i * stride).read()) };
    }
}
