//! Size classes: eight steps to each doubling, so that rounding up wastes at most an eighth beyond 4 KiB.

/// What sizes are multiples of.
pub(super) const UNIT: usize = 512;
/// The largest size that is cut from a slab.
pub(super) const MAX_SMALL: usize = 256 << 10;
/// The number of classes of small sizes.
pub(super) const CLASSES: usize = 56;
/// The size and alignment of a slab, and of a huge page.
pub(super) const SLAB: usize = 2 << 20;
/// What sizes of large blocks are multiples of.
const LARGE_UNIT: usize = 64 << 10;

/// The class of a size of 1 to [`MAX_SMALL`] bytes.
#[inline]
pub(super) fn class_of(nbytes: usize) -> usize {
    let last = (nbytes - 1) / UNIT;
    let shift = (last | 1).ilog2().saturating_sub(3);
    shift as usize * 8 + (last >> shift)
}

/// The size of the blocks of a class, in bytes.
#[inline]
pub(super) fn class_size(class: usize) -> usize {
    let shift = (class / 8).saturating_sub(1);
    (class - shift * 8 + 1) << shift << 9
}

/// The size of the block for a request of more than [`MAX_SMALL`] bytes; `None` if there can be none.
pub(super) fn large_size(nbytes: usize) -> Option<usize> {
    nbytes.checked_next_multiple_of(LARGE_UNIT).filter(|&size| size <= isize::MAX as usize - SLAB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_sizes_with_little_waste() {
        let mut before = (0, 0);
        for nbytes in 1..=MAX_SMALL {
            let class = class_of(nbytes);
            let size = class_size(class);
            assert!(
                class < CLASSES && size >= nbytes && size.is_multiple_of(UNIT),
                "{nbytes}: class {class} of {size}"
            );
            assert!(size - nbytes < UNIT.max(nbytes.div_ceil(8)), "{nbytes} wastes {}", size - nbytes);
            assert!(
                class == before.0 || (class == before.0 + 1 && before.1 == nbytes - 1),
                "{nbytes}: gap before {class}"
            );
            before = (class, size);
        }
        assert_eq!(class_of(MAX_SMALL), CLASSES - 1);
        assert_eq!(class_size(CLASSES - 1), MAX_SMALL);
    }

    #[test]
    fn absurd_sizes_have_no_block() {
        assert_eq!(large_size(usize::MAX), None);
        assert_eq!(large_size(isize::MAX as usize), None);
    }
}
