//! Running sums of few long rows: in segments, of which several are walked side by side, each from the sum of those before it.
//!
//! For types whose sums are formed in a wider one, or wrap: there the order of additions makes no difference that lasts.

use std::marker::PhantomData;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use smallvec::SmallVec;

use super::{Combine, Running, Sums, looking};
use crate::copy::{Axis, Nest, Shared};

/// The segments of a row, a multiple of those walked side by side.
const SEGMENTS: usize = 16;
const SIDE_BY_SIDE: usize = 4;
/// The most rows that are divided.
const MOST_ROWS: usize = 8;
/// The least length of rows that are.
const LEAST: usize = 1 << 13;

/// Whether rows are so few and long that this is faster.
pub(super) fn is_long(rows: &Nest<2>, along: Axis<2>) -> bool {
    rows.count() <= MOST_ROWS && along.len >= LEAST
}

pub(super) struct LongSums<T> {
    pub rows: Nest<2>,
    pub along: Axis<2>,
    pub element: PhantomData<T>,
}

impl<T: Running> LongSums<T>
where
    Sums: Combine<T>,
{
    /// The length of all segments but the last, and of the `i`-th.
    fn segment(&self, i: usize) -> (usize, usize) {
        let segment = self.along.len.div_ceil(SEGMENTS);
        (segment, segment.min(self.along.len.saturating_sub(i * segment)))
    }

    /// The sum of a segment.
    ///
    /// # Safety
    /// `src` is readable for the segment's `len` elements.
    unsafe fn total(&self, src: *const u8, len: usize) -> T::Wide {
        let step = self.along.step[0];
        // SAFETY: it is called with numbers below `len`, which are the segment's elements.
        let read = |i: isize| unsafe { src.offset(i * step).cast::<T>().read_unaligned() }.widen();
        let mut sums = [Sums::START; SIDE_BY_SIDE];
        looking(
            len / SIDE_BY_SIDE,
            #[inline(always)]
            |i| {
                for (k, sum) in (0..).zip(&mut sums) {
                    *sum = Sums::combine(*sum, read(SIDE_BY_SIDE as isize * i + k));
                }
            },
        );
        let rest = (len - len % SIDE_BY_SIDE..len).map(|i| read(i as isize));
        sums.into_iter().chain(rest).fold(Sums::START, Sums::combine)
    }

    /// Writes neighbouring segments of a row, beginning with these sums.
    ///
    /// # Safety
    /// The pointers are to a row's first elements; nobody else writes these segments.
    unsafe fn write(&self, src: *const u8, dst: *mut u8, first: usize, starts: [T::Wide; SIDE_BY_SIDE]) {
        let (segment, _) = self.segment(0);
        let step = |t: usize| segment as isize * self.along.step[t];
        let at = |t: usize, i: usize| i as isize * step(t);
        let along = |len: usize| Axis { len, ..self.along };
        let last = self.segment(first + SIDE_BY_SIDE - 1).1;
        // SAFETY: segments are parts of the row.
        unsafe {
            if last == segment {
                let lanes = Axis { len: SIDE_BY_SIDE, step: [step(0), step(1)] };
                let (src, dst) = (src.offset(at(0, first)), dst.offset(at(1, first)));
                return T::walk::<Sums, SIDE_BY_SIDE>(starts, lanes, along(segment), src, dst);
            }
            for (i, start) in (first..).zip(starts) {
                let len = self.segment(i).1;
                if len > 0 {
                    let (src, dst) = (src.offset(at(0, i)), dst.offset(at(1, i)));
                    T::walk::<Sums, 1>([start], Axis { len: 1, step: [0, 0] }, along(len), src, dst);
                }
            }
        }
    }
}

impl<T: Running + Send + Sync + 'static> HostKernel for LongSums<T>
where
    Sums: Combine<T>,
    T::Wide: Send + Sync,
{
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst) = (Shared(inputs[0]), Shared(outputs[0]));
        let mut sums = [Sums::START; MOST_ROWS * SEGMENTS];
        let totals = Shared(sums.as_mut_ptr());
        let mut rows: SmallVec<[[isize; 2]; MOST_ROWS]> = SmallVec::new();
        self.rows.for_each(0..self.rows.count(), |row| rows.push(row));
        // Rows whose elements lie between each other's share lines of the cache: a segment of all of them is one thread's.
        let is_interleaved = self.rows.axes.last().is_some_and(|row| row.step[1].abs() < self.along.step[1].abs());
        let together = if is_interleaved { rows.len() } else { 1 };
        parallel_for(SEGMENTS * rows.len(), together, |range| {
            for (i, row) in range.map(|task| (task / rows.len(), task % rows.len())) {
                let (segment, len) = self.segment(i);
                let first = rows[row][0] + (i * segment) as isize * self.along.step[0];
                // SAFETY: the segment is the row's, and the total its own.
                unsafe {
                    *totals.get().add(row * SEGMENTS + i) = self.total(src.get().wrapping_offset(first), len);
                }
            }
        });
        for row in sums[..rows.len() * SEGMENTS].chunks_mut(SEGMENTS) {
            let mut before = Sums::START;
            for sum in row {
                before = Sums::combine(std::mem::replace(sum, before), before);
            }
        }
        parallel_for(SEGMENTS / SIDE_BY_SIDE * rows.len(), together, |range| {
            for (part, row) in range.map(|task| (task / rows.len(), task % rows.len())) {
                let (first, [from, to]) = (part * SIDE_BY_SIDE, rows[row]);
                let starts = std::array::from_fn(|i| sums[row * SEGMENTS + first + i]);
                let (src, dst) = (src.get().wrapping_offset(from), dst.get().wrapping_offset(to));
                // SAFETY: the row is the tensors', and nobody else writes these segments.
                unsafe { self.write(src, dst, first, starts) };
            }
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        20 + (self.rows.count() * self.along.len) as u64 / 2
    }
}
