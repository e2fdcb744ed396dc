//! Each output on its own: rows of neighbouring elements, or elements gathered from anywhere.

use super::cascade::Cascade;
use super::fold::Fold;
use super::kernel::{Job, Loops, Step};
use super::plan::{Form, Plan};
use crate::plan::{LoopDim, Walk, iterations};
use crate::simd::{Routine, Simd};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Elements accumulated in line before the result enters a cascade.
const BLOCK: usize = 1024;
/// No vector has more lanes.
const MAX_LANES: usize = 16;

/// Reductions of the forms [`Form::Rows`] and [`Form::Scattered`]. A task is an output, a unit a block.
pub(super) struct Rows<F> {
    pub fold: F,
    pub plan: Plan,
}

impl<F: Fold> Loops for Rows<F> {
    type Acc = F::Acc;
    fn tasks(&self) -> usize {
        iterations(&self.plan.outer)
    }
    fn units(&self) -> usize {
        match self.plan.form {
            Form::Rows { len } => iterations(&self.plan.reduced) * len.div_ceil(BLOCK),
            _ => self.plan.count.div_ceil(BLOCK),
        }
    }
    fn part_len(&self) -> usize {
        MAX_LANES
    }
}

impl<F: Fold> Routine for Rows<F> {
    type Args = Job<F::Acc>;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Self::Args) {
        let input = job.input.cast::<F::In>();
        // SAFETY: the plan's offsets stay within the tensors that the caller vouches for.
        unsafe {
            match job.step {
                Step::Whole(tasks) => {
                    let mut walk = Walk::new(&self.plan.outer, tasks.start);
                    let units = self.units();
                    for _ in tasks {
                        let [from, to] = walk.offset();
                        let result = self.fold_units::<S>(input.add(from), 0..units);
                        self.write::<S>(result, job.output.add(to * self.fold.out_size()));
                        walk.step();
                    }
                }
                Step::Part { task, units, acc } => {
                    let [from, _] = Walk::new(&self.plan.outer, task).offset();
                    self.fold.write::<S>(self.fold_units::<S>(input.add(from), units), acc);
                }
                Step::Join { task, acc, parts } => {
                    let [_, to] = Walk::new(&self.plan.outer, task).offset();
                    let result = self.join::<S>(acc, parts);
                    self.write::<S>(result, job.output.add(to * self.fold.out_size()));
                }
            }
        }
    }
}

impl<F: Fold> Rows<F> {
    /// # Safety
    /// `base` is the first element of an output's inputs; the units exist.
    #[inline(always)]
    unsafe fn fold_units<S: Simd>(&self, base: *const F::In, units: Range<usize>) -> F::Vector<S> {
        // SAFETY: the caller's.
        unsafe {
            match self.plan.form {
                Form::Rows { len } if self.plan.reduced.is_empty() && len <= BLOCK => {
                    fold_block::<S, F>(self.fold, base, len)
                }
                Form::Rows { len } => self.fold_rows::<S>(base, len, units),
                _ => self.fold_scattered::<S>(base, units),
            }
        }
    }

    /// # Safety
    /// As [`Rows::fold_units`].
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(&self, base: *const F::In, len: usize, units: Range<usize>) -> F::Vector<S> {
        let fold = self.fold;
        let mut cascade = Cascade::<F, S>::new(fold);
        let blocks = len.div_ceil(BLOCK).max(1);
        let mut walk = Walk::new(&self.plan.reduced, units.start / blocks);
        let mut block = units.start % blocks;
        for _ in units {
            let [row] = walk.offset();
            let start = block * BLOCK;
            // SAFETY: the block lies within its row.
            let v = unsafe { fold_block::<S, F>(fold, base.add(row + start), BLOCK.min(len - start)) };
            cascade.push(v);
            block += 1;
            if block == blocks {
                block = 0;
                walk.step();
            }
        }
        cascade.finish()
    }

    /// # Safety
    /// As [`Rows::fold_units`].
    #[inline(always)]
    unsafe fn fold_scattered<S: Simd>(&self, base: *const F::In, units: Range<usize>) -> F::Vector<S> {
        let fold = self.fold;
        let mut cascade = Cascade::<F, S>::new(fold);
        let mut gathered = [const { MaybeUninit::<F::In>::uninit() }; BLOCK];
        for unit in units {
            let start = unit * BLOCK;
            let n = BLOCK.min(self.plan.count - start);
            // SAFETY: positions below `count` lie within the input; `n` elements have been gathered before they are read.
            let v = unsafe {
                gather(base, &self.plan.reduced, start, &mut gathered[..n]);
                fold_block::<S, F>(fold, gathered.as_ptr().cast(), n)
            };
            cascade.push(v);
        }
        cascade.finish()
    }

    /// # Safety
    /// `acc` holds `parts` partial results.
    #[inline(always)]
    unsafe fn join<S: Simd>(&self, acc: *const F::Acc, parts: usize) -> F::Vector<S> {
        let fold = self.fold;
        let mut cascade = Cascade::<F, S>::new(fold);
        for part in 0..parts {
            // SAFETY: the caller's.
            let v = unsafe { fold.read::<S>(acc.add(part * MAX_LANES)) };
            cascade.push(v);
        }
        cascade.finish()
    }

    /// # Safety
    /// `output` is valid for writing an output element.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, v: F::Vector<S>, output: *mut u8) {
        let mut acc = [F::Acc::default(); MAX_LANES];
        acc[0] = self.fold.fold_lanes::<S>(v);
        // SAFETY: the array holds as many accumulators as any vector.
        unsafe { self.fold.finish::<S>(acc.as_ptr(), 1, self.plan.count, output, 1) };
    }
}

/// Folds `n` neighbouring elements, four vectors at a time.
///
/// # Safety
/// `ptr` is valid for reading `n` elements.
#[inline(always)]
unsafe fn fold_block<S: Simd, F: Fold>(fold: F, ptr: *const F::In, n: usize) -> F::Vector<S> {
    let lanes = F::lanes::<S>();
    let mut i = 0;
    // SAFETY: every read ends at or before element n.
    unsafe {
        let load = |i: usize| fold.load::<S>(ptr.add(i));
        let mut acc = fold.identity::<S>();
        if n >= 4 * lanes {
            let (mut a, mut b, mut c, mut d) = (load(0), load(lanes), load(2 * lanes), load(3 * lanes));
            i = 4 * lanes;
            while i + 4 * lanes <= n {
                a = fold.combine::<S>(a, load(i));
                b = fold.combine::<S>(b, load(i + lanes));
                c = fold.combine::<S>(c, load(i + 2 * lanes));
                d = fold.combine::<S>(d, load(i + 3 * lanes));
                i += 4 * lanes;
            }
            acc = fold.combine::<S>(fold.combine::<S>(a, b), fold.combine::<S>(c, d));
        }
        while i + lanes <= n {
            acc = fold.combine::<S>(acc, load(i));
            i += lanes;
        }
        if i < n {
            acc = fold.combine::<S>(acc, fold.load_partial::<S>(ptr.add(i), n - i));
        }
        acc
    }
}

/// Copies the elements from position `start` in the order of the loops, as many as `into` takes.
///
/// # Safety
/// `base` is valid for reading at every position of the loops; there are enough of them.
#[inline(always)]
unsafe fn gather<T: Copy>(base: *const T, loops: &[LoopDim<1>], start: usize, into: &mut [MaybeUninit<T>]) {
    let (inner, outer) = match loops.split_last() {
        Some((inner, outer)) => (*inner, outer),
        None => (LoopDim { len: 1, stride: [0] }, loops),
    };
    let mut walk = Walk::new(outer, start / inner.len);
    let mut at = start % inner.len;
    let mut filled = 0;
    while filled < into.len() {
        let n = (inner.len - at).min(into.len() - filled);
        let [row] = walk.offset();
        for (i, element) in into[filled..filled + n].iter_mut().enumerate() {
            // SAFETY: the position is one of the loops'.
            element.write(unsafe { base.add(row + (at + i) * inner.stride[0]).read() });
        }
        filled += n;
        at = 0;
        walk.step();
    }
}
