//! Memory that was freed and is kept for what comes next: all work of a GPU is in one stream, so that a block may be handed out again at once.

use std::collections::HashMap;

use crate::driver::Address;

/// Blocks by size, and how many bytes are in use.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    free: HashMap<usize, Vec<Address>>,
    /// Bytes handed out.
    pub used: usize,
    /// The most of them since it was last asked to count anew.
    pub most_used: usize,
}

/// The size of the block that holds so many bytes: multiples of an eighth of a power of two, 512 at least.
pub(crate) fn size_of_block(nbytes: usize) -> usize {
    let step = (nbytes.max(1).next_power_of_two() / 16).max(512);
    nbytes.max(1).next_multiple_of(step)
}

impl Kept {
    /// Counts a block of this size as in use.
    pub fn count(&mut self, size: usize) {
        self.used += size;
        self.most_used = self.most_used.max(self.used);
    }

    /// A kept block of this size.
    pub fn take(&mut self, size: usize) -> Option<Address> {
        let at = self.free.get_mut(&size)?.pop()?;
        self.count(size);
        Some(at)
    }

    /// Keeps a block that nobody uses any more.
    pub fn put(&mut self, size: usize, at: Address) {
        self.used -= size;
        self.free.entry(size).or_default().push(at);
    }

    /// All kept blocks, which are not kept any more.
    pub fn drain(&mut self) -> impl Iterator<Item = Address> {
        std::mem::take(&mut self.free).into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, size_of_block};

    #[test]
    fn blocks_are_an_eighth_larger_at_most() {
        assert_eq!([0, 1, 512, 513, 8192, 8193].map(size_of_block), [512, 512, 512, 1024, 8192, 9216]);
        for nbytes in [10_000usize, 123_456, 1 << 30, (1 << 30) + 1, 3_000_000_000] {
            let size = size_of_block(nbytes);
            assert!(size >= nbytes && size - nbytes <= nbytes / 8 && size_of_block(size) == size, "{nbytes}");
        }
    }

    #[test]
    fn blocks_are_handed_out_again() {
        let mut kept = Kept::default();
        assert_eq!(kept.take(512), None);
        kept.count(512);
        kept.put(512, 7);
        assert_eq!((kept.used, kept.take(1024), kept.take(512), kept.used), (0, None, Some(7), 512));
        kept.put(512, 7);
        assert_eq!((kept.drain().collect::<Vec<_>>(), kept.take(512), kept.most_used), (vec![7], None, 512));
    }
}
