//! What the loops know of a reduction over one element type.

mod float;
mod int;

use super::plan::Plan;
use crate::simd::Simd;
pub(super) use float::FloatFold;
pub(super) use int::{IntFold, IntMath, IntOutput};

/// Blocks that are folded at once where they are read from memory.
pub(super) const STREAMS: usize = 4;

/// A reduction over one element type, in vectors of accumulators. All methods are `#[inline(always)]`, to be compiled in a routine's entry.
pub(super) trait Fold: Copy + Send + Sync + 'static {
    /// A stored input element.
    type In: Copy + Default + Send + Sync + 'static;
    /// What is accumulated in.
    type Acc: Copy + Default + Send + Sync + 'static;
    /// Accumulators side by side.
    type Vector<S: Simd>: Copy;
    /// Whether vectors of 512 bits are worth their code.
    const AVX512: bool;

    /// The number of lanes; at most 16.
    fn lanes<S: Simd>() -> usize;
    /// The same where a second tensor, if it reads one, begins `apart` bytes after the first; its address has been exposed.
    #[inline(always)]
    fn beside(self, _apart: isize) -> Self {
        self
    }
    /// What changes nothing when combined, in every lane.
    fn identity<S: Simd>(self) -> Self::Vector<S>;
    /// Reads a vector of elements and maps them.
    ///
    /// # Safety
    /// `ptr` is valid for reading `lanes` elements.
    unsafe fn load<S: Simd>(self, ptr: *const Self::In) -> Self::Vector<S>;
    /// Reads `n` elements and maps them; the lanes after them are the identity.
    ///
    /// # Safety
    /// `ptr` is valid for reading `n` elements, and `n <= lanes`.
    unsafe fn load_partial<S: Simd>(self, ptr: *const Self::In, n: usize) -> Self::Vector<S>;
    /// Combines lane by lane.
    fn combine<S: Simd>(self, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// As [`combine`](Fold::combine), where that is rare: not in line if its code is long.
    #[inline(always)]
    fn combine_rarely<S: Simd>(self, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
        self.combine::<S>(a, b)
    }
    /// Combines all lanes, as a balanced tree; the result is in the first lane.
    fn fold_lanes<S: Simd>(self, v: Self::Vector<S>) -> Self::Vector<S>;
    /// Reads accumulators.
    ///
    /// # Safety
    /// `ptr` is valid for reading `lanes` accumulators.
    unsafe fn read<S: Simd>(self, ptr: *const Self::Acc) -> Self::Vector<S>;
    /// Writes accumulators.
    ///
    /// # Safety
    /// `ptr` is valid for writing `lanes` accumulators.
    unsafe fn write<S: Simd>(self, v: Self::Vector<S>, ptr: *mut Self::Acc);
    /// Finishes the first `n` lanes, each of `count` elements, and writes the outputs, `out_stride` elements apart.
    ///
    /// # Safety
    /// `out` is valid for writing these outputs; `n <= lanes`.
    unsafe fn finish<S: Simd>(self, v: Self::Vector<S>, n: usize, count: usize, out: *mut u8, out_stride: usize);
    /// [`finish`](Fold::finish) of as many elements as a plan has, each as often as it is there.
    ///
    /// # Safety
    /// As [`finish`](Fold::finish).
    #[inline(always)]
    unsafe fn complete<S: Simd>(self, v: Self::Vector<S>, n: usize, plan: &Plan, out: *mut u8, out_stride: usize) {
        let v = if plan.repeats == 1 { v } else { self.repeat::<S>(v, plan.repeats) };
        // SAFETY: what the caller vouches for.
        unsafe { self.finish::<S>(v, n, plan.count * plan.repeats, out, out_stride) };
    }
    /// What `times` equal results combine to, by doubling.
    #[inline(always)]
    fn repeat<S: Simd>(self, mut v: Self::Vector<S>, mut times: usize) -> Self::Vector<S> {
        let mut result = self.identity::<S>();
        while times > 0 {
            if times % 2 == 1 {
                result = self.combine_rarely::<S>(result, v);
            }
            v = self.combine_rarely::<S>(v, v);
            times /= 2;
        }
        result
    }
    /// The size of an output element in bytes.
    fn out_size(self) -> usize;

    /// Folds `n` neighbouring elements, four vectors at a time.
    ///
    /// # Safety
    /// `ptr` is valid for reading `n` elements.
    #[inline(always)]
    unsafe fn fold_block<S: Simd>(self, ptr: *const Self::In, n: usize) -> Self::Vector<S> {
        let lanes = Self::lanes::<S>();
        let mut i = 0;
        // SAFETY: every read ends at or before element n.
        unsafe {
            let load = |i: usize| self.load::<S>(ptr.add(i));
            let mut acc = self.identity::<S>();
            if n >= 4 * lanes {
                let (mut a, mut b, mut c, mut d) = (load(0), load(lanes), load(2 * lanes), load(3 * lanes));
                i = 4 * lanes;
                while i + 4 * lanes <= n {
                    a = self.combine::<S>(a, load(i));
                    b = self.combine::<S>(b, load(i + lanes));
                    c = self.combine::<S>(c, load(i + 2 * lanes));
                    d = self.combine::<S>(d, load(i + 3 * lanes));
                    i += 4 * lanes;
                }
                acc = self.combine::<S>(self.combine::<S>(a, b), self.combine::<S>(c, d));
            }
            while i + lanes <= n {
                acc = self.combine::<S>(acc, load(i));
                i += lanes;
            }
            if i < n {
                acc = self.combine::<S>(acc, self.load_partial::<S>(ptr.add(i), n - i));
            }
            acc
        }
    }

    /// Folds as many rows as there are lanes, `step` elements apart: each as [`fold_block`](Fold::fold_block) and [`fold_lanes`](Fold::fold_lanes) do,
    /// into a lane of its own. None where that is no faster than one after the other.
    ///
    /// # Safety
    /// The rows are valid for reading `len` elements.
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(self, _rows: *const Self::In, _step: usize, _len: usize) -> Option<Self::Vector<S>> {
        None
    }

    /// [`fold_rows`](Fold::fold_rows) and [`complete`](Fold::complete); false, and nothing is written, where rows are no faster so.
    ///
    /// # Safety
    /// The rows are valid for reading `len` elements, `out` for writing an output for each.
    #[inline(always)]
    unsafe fn complete_rows<S: Simd>(
        self,
        (rows, step): (*const Self::In, usize),
        len: usize,
        plan: &Plan,
        (out, out_stride): (*mut u8, usize),
    ) -> bool {
        // SAFETY: what the caller vouches for.
        unsafe {
            let Some(results) = self.fold_rows::<S>(rows, step, len) else { return false };
            self.complete::<S>(results, Self::lanes::<S>(), plan, out, out_stride);
        }
        true
    }

    /// How many blocks are best folded at once where they are read from memory: 1 or [`STREAMS`].
    #[inline(always)]
    fn streams<S: Simd>() -> usize {
        1
    }

    /// [`fold_block`](Fold::fold_block) of several blocks, of a multiple of four vectors each.
    ///
    /// # Safety
    /// The blocks are valid for reading `n` elements.
    #[inline(always)]
    unsafe fn fold_blocks<S: Simd>(self, blocks: [*const Self::In; STREAMS], n: usize) -> [Self::Vector<S>; STREAMS] {
        let mut results = [self.identity::<S>(); STREAMS];
        for (result, block) in results.iter_mut().zip(blocks) {
            // SAFETY: the caller vouches for each block.
            *result = unsafe { self.fold_block::<S>(block, n) };
        }
        results
    }

    /// Combines rows, and adds them to the accumulators.
    ///
    /// # Safety
    /// The rows are valid for reading `width` elements; `acc` holds as many accumulators, rounded up to whole vectors.
    #[inline(always)]
    unsafe fn add_rows<S: Simd, const N: usize>(self, rows: [*const Self::In; N], width: usize, acc: *mut Self::Acc) {
        let lanes = Self::lanes::<S>();
        let mut i = 0;
        // SAFETY: reads of rows end at or before element `width`; accumulators are whole vectors.
        unsafe {
            while i + lanes <= width {
                let mut sum = self.load::<S>(rows[0].add(i));
                for row in rows.iter().skip(1) {
                    sum = self.combine::<S>(sum, self.load::<S>(row.add(i)));
                }
                let acc = acc.add(i);
                self.write::<S>(self.combine::<S>(self.read::<S>(acc), sum), acc);
                i += lanes;
            }
            if i < width {
                let acc = acc.add(i);
                let mut sum = self.read::<S>(acc);
                for row in rows {
                    sum = self.combine::<S>(sum, self.load_partial::<S>(row.add(i), width - i));
                }
                self.write::<S>(sum, acc);
            }
        }
    }
}
