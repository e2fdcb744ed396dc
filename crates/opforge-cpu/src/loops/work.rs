//! Work, counted in elements of a plain loop over memory: how much is worth a thread's while, and how much is done between two looks whether the kernel
//! is to stop. Kernels whose elements cost more, or less, multiply or divide.

use opforge_runtime::checkpoint;

/// What a thread takes at a time, at least.
pub const GRAIN: usize = 1 << 14;
/// What is done between two looks.
pub(crate) const LOOK: usize = 1 << 16;

/// How many tasks of so much work a thread takes at a time.
pub(crate) fn grain(task: usize) -> usize {
    (GRAIN / task.max(1)).max(1)
}

/// Looks whether the kernel is to stop, but not before the first of some blocks: whoever was given them has just looked, and where a row is no more than
/// one, as of very many rows, a look takes as long as the work.
#[inline(always)]
pub(crate) fn look_again(block: usize) {
    if block > 0 {
        checkpoint();
    }
}

/// Looks whether the kernel is to stop, at one in [`LOOK`] elements.
#[inline(always)]
pub(crate) fn look_at(element: usize) {
    if element.is_multiple_of(LOOK) {
        checkpoint();
    }
}
