//! Zeroed memory from the operating system.

use std::ptr::NonNull;

use super::size::SLAB;

/// What blocks below [`SLAB`] bytes are aligned to.
const PAGE: usize = 4096;

fn alignment(size: usize) -> usize {
    if size >= SLAB { SLAB } else { PAGE }
}

/// Maps `size` bytes of zeros, aligned, from 2 MiB on perhaps backed by huge pages. `None` when the system refuses.
#[cfg(unix)]
pub(super) fn map(size: usize) -> Option<NonNull<u8>> {
    let align = alignment(size);
    let slack = align - PAGE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: a fresh anonymous mapping touches no memory that exists.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size.checked_add(slack)?, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start.cast::<u8>();
    let lead = start.align_offset(align);
    // SAFETY: `lead <= slack`, because mappings start at pages; both trimmed ranges and the block lie in the new mapping.
    unsafe {
        let block = start.add(lead);
        unmap_range(start, lead);
        unmap_range(block.add(size), slack - lead);
        advise_huge(block, size);
        NonNull::new(block)
    }
}

/// Whether the system would give so many bytes now.
#[cfg(unix)]
pub(super) fn can_map(size: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: a fresh anonymous mapping touches no memory that exists.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: the whole of the mapping just made, which nobody else knows.
    unsafe { libc::munmap(start, size) };
    true
}

/// Whether the system would give so many bytes now.
#[cfg(not(unix))]
pub(super) fn can_map(size: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(size).is_ok()
}

/// Returns a block to the system.
///
/// # Safety
/// `block` came from [`map`] with the same `size` and is not used any more.
#[cfg(unix)]
pub(super) unsafe fn unmap(block: NonNull<u8>, size: usize) {
    // SAFETY: a block from `map` is a mapping of `size` bytes in whole pages, which nobody uses any more.
    unsafe { unmap_range(block.as_ptr(), size) };
}

/// # Safety
/// The range consists of whole mapped pages that nobody uses.
#[cfg(unix)]
unsafe fn unmap_range(start: *mut u8, size: usize) {
    if size > 0 {
        // SAFETY: whole pages, mapped and unused. Failure (too many mappings) only leaves the range mapped.
        unsafe { libc::munmap(start.cast(), size) };
    }
}

/// Mapped memory that large blocks are cut from, front to back: blocks of less than a huge page, and the ends of others, then lie in huge pages too.
/// Each block is returned by itself.
pub(super) struct Reserve {
    next: usize,
    end: usize,
    /// Bytes of the next mapping: programs that need little take little.
    growth: usize,
}

impl Reserve {
    const LEAST: usize = 2 * SLAB;
    const MOST: usize = 16 * SLAB;

    pub(super) const fn new() -> Self {
        Reserve { next: 0, end: 0, growth: Reserve::LEAST }
    }

    /// `size` bytes of zeros, whole pages. `None` when the system refuses.
    #[cfg(unix)]
    pub(super) fn cut(&mut self, size: usize) -> Option<NonNull<u8>> {
        if self.end - self.next < size {
            let length = self.growth.max(size.checked_next_multiple_of(SLAB)?);
            let Some(start) = map(length) else { return map(size) };
            self.give_back();
            self.next = start.expose_provenance().get();
            self.end = self.next + length;
            self.growth = (2 * self.growth).min(Reserve::MOST);
        }
        let block = NonNull::new(std::ptr::with_exposed_provenance_mut(self.next));
        self.next += size;
        block
    }

    /// Returns what was not cut to the system.
    #[cfg(unix)]
    pub(super) fn give_back(&mut self) {
        let rest = std::ptr::with_exposed_provenance_mut(self.next);
        // SAFETY: whole pages of a mapping, of which no block was cut.
        unsafe { unmap_range(rest, self.end - self.next) };
        self.end = self.next;
    }

    /// As [`map`]: parts of blocks cannot be returned here.
    #[cfg(not(unix))]
    pub(super) fn cut(&mut self, size: usize) -> Option<NonNull<u8>> {
        map(size)
    }

    /// There is nothing to return.
    #[cfg(not(unix))]
    pub(super) fn give_back(&mut self) {}
}

/// Has a block backed by huge pages where they are faster.
///
/// # Safety
/// The range is mapped, aligned to [`SLAB`] if it is as long, and new: it holds zeros that nobody has read.
#[cfg(unix)]
unsafe fn advise_huge(start: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is new and, from SLAB on, aligned to it; what is tried has at least PROBE bytes.
    unsafe {
        match size {
            ..SLAB => {}
            SLAB..huge::PROBE => huge::advise(start, size),
            _ => huge::advise_while_fast(start, size),
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, size);
}

/// Huge pages are there sooner than small ones, if the machine has the memory, and are read faster ever after. But where a virtual machine's host takes
/// back what is free and gives it again page by page, they are often memory that the host has to give, and much slower, while small ones are remains of
/// what it has given before. The system gives away first what was in use last: so the front of a block may be fast, and the rest not.
#[cfg(target_os = "linux")]
mod huge {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use super::{PAGE, SLAB};

    /// The least bytes of a block that is looked at.
    pub const PROBE: usize = 4 * SLAB;
    /// So many huge pages of a block are touched at most: those after them are taken to be as fast.
    const TOUCHED: usize = 32;

    /// How long small pages take, for as many bytes as a huge one.
    static SMALL: OnceLock<Duration> = OnceLock::new();

    /// Mappings to come that are not looked at, since huge pages were slow: of [`PROBE`] bytes or more.
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    const SKIP: u32 = 4;

    /// Has a block backed by huge pages from its front on, as far as they are there sooner than small ones, which touching them tells.
    ///
    /// # Safety
    /// `start` is a new mapping of `size` bytes, at least [`PROBE`], aligned to [`SLAB`].
    pub unsafe fn advise_while_fast(start: *mut u8, size: usize) {
        // Called under the heap's lock: nobody else counts meanwhile.
        let skipped = SKIPPED.load(Ordering::Relaxed);
        if skipped > 0 {
            return SKIPPED.store(skipped - 1, Ordering::Relaxed);
        }
        let pages = size / SLAB;
        let page = |index: usize| start.wrapping_add(index * SLAB);
        // SAFETY: pages of the block.
        let small = *SMALL.get_or_init(|| unsafe {
            libc::madvise(page(pages - 1).cast(), SLAB, libc::MADV_NOHUGEPAGE);
            touch(page(pages - 1), PAGE)
        });
        // SAFETY: pages of the block, which nobody uses yet.
        let is_fast = |&index: &usize| unsafe {
            advise(page(index), SLAB);
            touch(page(index), SLAB) <= small
        };
        match (0..pages.min(TOUCHED)).find(|index| !is_fast(index)) {
            Some(_) => SKIPPED.store(SKIP, Ordering::Relaxed),
            // SAFETY: the rest of the block.
            None if pages > TOUCHED => unsafe { advise(page(TOUCHED), size - TOUCHED * SLAB) },
            None => {}
        }
    }

    /// How long it takes to write a zero to each of the pages of [`SLAB`] bytes.
    ///
    /// # Safety
    /// They are mapped and hold zeros.
    unsafe fn touch(start: *mut u8, page: usize) -> Duration {
        let begin = Instant::now();
        // SAFETY: `at` is below SLAB, of which all bytes are mapped.
        (0..SLAB).step_by(page).for_each(|at| unsafe { start.add(at).write_volatile(0) });
        begin.elapsed()
    }

    /// # Safety
    /// The range is mapped.
    pub unsafe fn advise(start: *mut u8, size: usize) {
        // SAFETY: the advice changes how the range is backed, not what it holds. It may be refused.
        unsafe { libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(unix))]
fn layout(size: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(size, alignment(size)).ok()
}

/// Allocates `size` bytes of zeros. `None` when the system refuses.
#[cfg(not(unix))]
pub(super) fn map(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: no block is empty.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout(size)?) })
}

/// Returns a block to the system.
///
/// # Safety
/// `block` came from [`map`] with the same `size` and is not used any more.
#[cfg(not(unix))]
pub(super) unsafe fn unmap(block: NonNull<u8>, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: the layout that `map` used.
        unsafe { std::alloc::dealloc(block.as_ptr(), layout) };
    }
}
