//! The allocator's blocks: slabs for small ones, mappings for large ones, and those that are free.

use std::collections::{BTreeMap, HashMap};
use std::ptr::NonNull;

use opforge_core::{Error, Result};

use super::size::{CLASSES, MAX_SMALL, SLAB, class_of, class_size, large_size};
use super::system::Reserve;
use super::{ALIGNMENT, Stats, system};

/// The address of a block; blocks of one size are interchangeable.
type Block = NonNull<u8>;

/// All memory that was mapped, in use or not.
pub(crate) struct Heap {
    /// Free small blocks by class, the last freed (the hottest) at the end.
    small: [Vec<Block>; CLASSES],
    slabs: Vec<Slab>,
    /// What large blocks are cut from.
    reserve: Reserve,
    /// Free large blocks by size.
    large: BTreeMap<usize, Vec<Block>>,
    /// The sizes of all large blocks in use, by address.
    large_in_use: BTreeMap<usize, usize>,
    /// What is mapped, in bytes: in use, cached, and not yet cut.
    mapped: usize,
    stats: Stats,
}

/// 2 MiB that small blocks are cut from, front to back. Only the last slab is being cut.
struct Slab {
    start: Block,
    /// How much of it has been cut, in bytes.
    cut: usize,
}

// SAFETY: the addresses are of memory that the heap owns; no thread has a special claim to it.
unsafe impl Send for Heap {}

impl Heap {
    pub(super) const fn new() -> Self {
        let stats = Stats { in_use: 0, cached: 0, peak: 0, allocations: 0, reused: 0, frees: 0 };
        Heap {
            small: [const { Vec::new() }; CLASSES],
            slabs: Vec::new(),
            reserve: Reserve::new(),
            large: BTreeMap::new(),
            large_in_use: BTreeMap::new(),
            mapped: 0,
            stats,
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats { cached: self.mapped - self.stats.in_use, ..self.stats }
    }

    pub(super) fn reset_peak(&mut self) {
        self.stats.peak = self.stats.in_use;
    }

    #[inline]
    pub(super) fn allocate(&mut self, nbytes: usize, limit: usize) -> Result<Block> {
        self.stats.allocations += 1;
        if nbytes == 0 {
            return Ok(empty_block());
        }
        let found = if nbytes <= MAX_SMALL { self.take_small(nbytes, limit) } else { self.take_large(nbytes, limit) };
        let Some((block, size)) = found else {
            return Err(Error::OutOfMemory { requested: nbytes, in_use: self.stats.in_use, limit });
        };
        self.stats.in_use += size;
        self.stats.peak = self.stats.peak.max(self.stats.in_use);
        Ok(block)
    }

    /// # Safety
    /// `block` came from [`Heap::allocate`] with the same `nbytes` and is not used any more.
    #[inline]
    pub(super) unsafe fn free(&mut self, block: Block, nbytes: usize) {
        self.stats.frees += 1;
        if nbytes == 0 {
            return;
        }
        let size = if nbytes <= MAX_SMALL {
            let class = class_of(nbytes);
            self.small[class].push(block);
            class_size(class)
        } else {
            self.put_large(block)
        };
        self.stats.in_use -= size;
    }

    #[inline]
    fn take_small(&mut self, nbytes: usize, limit: usize) -> Option<(Block, usize)> {
        let class = class_of(nbytes);
        let size = class_size(class);
        if self.stats.in_use + size > limit {
            return None;
        }
        match self.small[class].pop() {
            Some(block) => {
                self.stats.reused += 1;
                Some((block, size))
            }
            None => self.cut(size, limit).map(|block| (block, size)),
        }
    }

    /// Cuts a new small block.
    #[cold]
    fn cut(&mut self, size: usize, limit: usize) -> Option<Block> {
        let room = self.slabs.last().is_some_and(|slab| slab.cut + size <= SLAB);
        if !room {
            let start = self.map(SLAB, limit, |_| system::map(SLAB))?;
            self.slabs.push(Slab { start, cut: 0 });
        }
        let slab = self.slabs.last_mut()?;
        // SAFETY: `cut + size <= SLAB`, the size of the slab's mapping.
        let block = unsafe { slab.start.add(slab.cut) };
        slab.cut += size;
        Some(block)
    }

    /// The best fitting free block that wastes at most a quarter of the request, else a new one.
    #[cold]
    fn take_large(&mut self, nbytes: usize, limit: usize) -> Option<(Block, usize)> {
        let wanted = large_size(nbytes)?;
        let room = limit.saturating_sub(self.stats.in_use);
        if wanted > room {
            return None;
        }
        let largest = room.min(wanted.saturating_add(wanted / 4));
        let fit = self.large.range(wanted..=largest).next().map(|(&size, _)| size);
        let (block, size) = match fit.and_then(|size| Some((self.pop_large(size)?, size))) {
            Some(found) => {
                self.stats.reused += 1;
                found
            }
            None => (self.map(wanted, limit, |heap| heap.reserve.cut(wanted))?, wanted),
        };
        self.large_in_use.insert(block.addr().get(), size);
        Some((block, size))
    }

    fn pop_large(&mut self, size: usize) -> Option<Block> {
        let blocks = self.large.get_mut(&size)?;
        let block = blocks.pop();
        if blocks.is_empty() {
            self.large.remove(&size);
        }
        block
    }

    /// Keeps a large block for reuse; returns its size.
    #[cold]
    fn put_large(&mut self, block: Block) -> usize {
        let size = self.large_in_use.remove(&block.addr().get());
        debug_assert!(size.is_some(), "freed what was not allocated");
        let Some(size) = size else { return 0 };
        self.large.entry(size).or_default().push(block);
        size
    }

    /// New memory; gives up the cache first where the limit or the system asks for it.
    fn map(&mut self, size: usize, limit: usize, new: impl Fn(&mut Heap) -> Option<Block>) -> Option<Block> {
        if self.mapped.saturating_add(size) > limit {
            self.empty_cache();
        }
        let block = new(self).or_else(|| {
            self.empty_cache();
            new(self)
        })?;
        self.mapped += size;
        Some(block)
    }

    pub(super) fn empty_cache(&mut self) {
        self.reserve.give_back();
        for (size, blocks) in std::mem::take(&mut self.large) {
            self.mapped -= size * blocks.len();
            // SAFETY: free blocks, mapped with this size.
            blocks.into_iter().for_each(|block| unsafe { system::unmap(block, size) });
        }
        self.unmap_free_slabs();
    }

    /// Returns the slabs of which every block is free.
    fn unmap_free_slabs(&mut self) {
        let slab_of = |block: &Block| block.addr().get() & !(SLAB - 1);
        let mut free = HashMap::<usize, usize>::new();
        for (class, blocks) in self.small.iter().enumerate() {
            for block in blocks {
                *free.entry(slab_of(block)).or_default() += class_size(class);
            }
        }
        let is_free = |slab: &Slab| free.get(&slab.start.addr().get()).copied().unwrap_or(0) == slab.cut;
        let (unused, kept) = std::mem::take(&mut self.slabs).into_iter().partition::<Vec<_>, _>(is_free);
        self.slabs = kept;
        let unused_starts: Vec<usize> = unused.iter().map(|slab| slab.start.addr().get()).collect();
        for blocks in &mut self.small {
            blocks.retain(|block| !unused_starts.contains(&slab_of(block)));
        }
        for slab in unused {
            self.mapped -= SLAB;
            // SAFETY: none of its blocks is in use, and none is listed as free any more.
            unsafe { system::unmap(slab.start, SLAB) };
        }
    }
}

/// The address of a block of no bytes.
fn empty_block() -> Block {
    NonNull::without_provenance(const { std::num::NonZero::new(ALIGNMENT).unwrap() })
}
