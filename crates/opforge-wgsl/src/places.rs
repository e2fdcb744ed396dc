//! Addresses for memory that has none: each block has a range of numbers of its own, which nothing ever follows.

use std::collections::BTreeMap;
use std::sync::RwLock;

use crate::gpu::Buffer;
use opforge_core::{Error, Result};

/// Where ranges begin, and what they are multiples of.
const FIRST: usize = 1 << 40;
const ALIGNMENT: usize = 256;

/// Blocks by their first address.
pub(crate) struct Places {
    blocks: RwLock<Blocks>,
}

struct Blocks {
    next: usize,
    of: BTreeMap<usize, Buffer>,
}

impl Places {
    pub fn new() -> Self {
        Places { blocks: RwLock::new(Blocks { next: FIRST, of: BTreeMap::new() }) }
    }

    /// The address of a block that was made now.
    pub fn add(&self, buffer: Buffer) -> Result<usize> {
        let mut blocks = self.blocks.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (first, size) = (blocks.next, buffer.size());
        // A block of nothing has an address of its own too.
        let next = size.max(1).checked_next_multiple_of(ALIGNMENT).and_then(|size| first.checked_add(size));
        blocks.next = next.ok_or(Error::OutOfMemory { requested: size, in_use: first, limit: usize::MAX })?;
        blocks.of.insert(first, buffer);
        Ok(first)
    }

    /// Forgets the block at an address.
    pub fn remove(&self, address: usize) -> Option<Buffer> {
        self.blocks.write().unwrap_or_else(|poisoned| poisoned.into_inner()).of.remove(&address)
    }

    /// The block that has an address, and how far it is from its beginning.
    pub fn find(&self, address: usize) -> Result<(Buffer, usize)> {
        let blocks = self.blocks.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = blocks.of.range(..=address).next_back();
        let inside = found.filter(|(first, buffer)| address - **first <= buffer.size());
        let (first, buffer) = inside.ok_or_else(|| Error::msg(format!("wgpu: no memory at {address:#x}")))?;
        Ok((buffer.clone(), address - first))
    }
}
