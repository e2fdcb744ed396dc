//! Sums to which so many rows are added that rounding errors would show: they are made apart, in totals.
//!
//! Indices are counted in buckets first. Where a bucket has many, the index that it met last has a row of totals, which enter its sums when
//! another index takes the row over, and at the end.

use opforge_runtime::checkpoint;

use super::ids::{BATCH, Batch, Ids, SKIP};
use super::write::Totals;

/// Rows that are added before counting is worth it; fewer to one sum are accurate enough.
pub(super) const LEAST: usize = 4096;
/// Rows of a bucket from which on they are added to totals.
const MANY: u32 = 1024;
const BUCKET_BITS: u32 = 12;

/// Fibonacci hashing: neighbouring indices, and those some power of two apart, have different buckets.
#[inline(always)]
fn bucket(id: usize) -> usize {
    ((id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BUCKET_BITS)) as usize
}

/// Which buckets have many indices.
pub(super) struct Frequent {
    /// For each bucket, the number of its row of totals, from 1 on; 0 if it has none.
    rows: Vec<u16>,
    count: usize,
}

impl Frequent {
    /// Counts indices; `None` if there are not many of any.
    ///
    /// # Safety
    /// `ids` points to the first of `n` readable indices, `step` bytes apart.
    pub unsafe fn count(ids: &Ids, mut at: *const u8, step: isize, n: usize) -> Option<Self> {
        let (mut counts, mut batch) = ([0u32; 1 << BUCKET_BITS], Batch::new());
        for first in (0..n).step_by(BATCH) {
            checkpoint();
            let len = BATCH.min(n - first);
            // SAFETY: `len` of the `n` indices are left. One out of range is reported when it is used.
            let read = unsafe { ids.read(at, step, len, &mut batch) };
            for &id in read.unwrap_or_default() {
                counts[bucket(id)] = counts[bucket(id)].saturating_add(u32::from(id != SKIP));
            }
            at = at.wrapping_offset(len as isize * step);
        }
        if counts.iter().all(|&count| count <= MANY) {
            return None;
        }
        let mut count = 0;
        let mut number = |many: bool| {
            count += u16::from(many);
            if many { count } else { 0 }
        };
        let rows = counts.iter().map(|&count| number(count > MANY)).collect();
        Some(Frequent { rows, count: count.into() })
    }

    /// Bytes of all rows of `n` totals.
    pub fn bytes(&self, totals: Totals, n: usize) -> usize {
        self.count * n * totals.size
    }

    /// The number of the row of totals that an index uses.
    #[inline(always)]
    pub fn row(&self, id: usize) -> Option<usize> {
        usize::from(self.rows[bucket(id)]).checked_sub(1)
    }
}

/// The rows of totals of a task.
pub(super) struct Rows<'a> {
    pub frequent: &'a Frequent,
    totals: Totals,
    /// Elements of a row.
    n: usize,
    memory: *mut u8,
    /// The index that each row belongs to; [`SKIP`] if none yet.
    owners: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// # Safety
    /// The memory holds [`Frequent::bytes`], is aligned to totals, and is valid as long as this is used.
    pub unsafe fn new(frequent: &'a Frequent, totals: Totals, n: usize, memory: *mut u8) -> Self {
        // SAFETY: the memory holds so many bytes; totals of zero are zeros.
        unsafe { memory.write_bytes(0, frequent.bytes(totals, n)) };
        Rows { frequent, totals, n, memory, owners: vec![SKIP; frequent.count] }
    }

    fn at(&self, row: usize) -> *mut u8 {
        self.memory.wrapping_add(row * self.n * self.totals.size)
    }

    /// Adds a row of the source to the totals of index `id`, numbered `row`.
    ///
    /// # Safety
    /// The source is valid for a row, `sums` for the row of any index.
    pub unsafe fn add(
        &mut self,
        row: usize,
        id: usize,
        src: (*const u8, isize),
        sums: impl Fn(usize) -> (*mut u8, isize),
    ) {
        // SAFETY: row `row` is within the memory, since a bucket's number is below the count; the source holds a row.
        unsafe {
            if self.owners[row] != id {
                self.empty(row, &sums);
                self.owners[row] = id;
            }
            (self.totals.add)(src.0, src.1, self.at(row), self.n);
        }
    }

    /// Adds a row of totals to the sums that it belongs to.
    ///
    /// # Safety
    /// As [`Rows::add`].
    unsafe fn empty(&self, row: usize, sums: impl Fn(usize) -> (*mut u8, isize)) {
        if self.owners[row] != SKIP {
            let (to, step) = sums(self.owners[row]);
            // SAFETY: the totals of a row are within the memory, and its sums are valid.
            unsafe { (self.totals.empty)(self.at(row), to, step, self.n) };
        }
    }

    /// Adds all totals to their sums.
    ///
    /// # Safety
    /// As [`Rows::add`].
    pub unsafe fn finish(&self, sums: impl Fn(usize) -> (*mut u8, isize)) {
        // SAFETY: `row` is below the number of owners, and `sums` is valid for the row of each.
        (0..self.owners.len()).for_each(|row| unsafe { self.empty(row, &sums) });
    }
}
