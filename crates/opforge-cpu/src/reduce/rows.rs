//! Each output on its own: rows of neighbouring elements, or elements gathered from anywhere.

use super::Reducer;
use super::cascade::Cascade;
use super::fold::{FloatFold, Fold, STREAMS};
use super::gather::gather;
use super::kernel::{Job, Load, ROW_PART, Step};
use super::plan::{Form, Plan};
use crate::loops::plan::{LoopDim, Walk, iterations};
use crate::loops::work::LOOK;
use crate::simd::stored::StoredFloat;
use crate::simd::{Routine, Simd, Vector};
use opforge_core::WithDType;
use opforge_runtime::checkpoint;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Elements accumulated in line before the result enters a cascade.
pub(super) const BLOCK: usize = 2048;
/// Blocks after which a fold looks whether it is to stop.
const BLOCKS: usize = LOOK / BLOCK;
/// No vector has more lanes.
const MAX_LANES: usize = 16;

/// Reductions of the forms [`Form::Rows`] and [`Form::Scattered`]. A task is an output, a unit a block.
pub(super) struct Rows<F> {
    pub fold: F,
    pub plan: Plan,
}

/// The tasks of a plan of these forms.
pub(super) fn load(plan: &Plan) -> Load {
    let units = match plan.form {
        Form::Rows { len } => iterations(&plan.reduced) * len.div_ceil(BLOCK),
        _ => plan.count.div_ceil(BLOCK),
    };
    let tasks = iterations(&plan.outer);
    let is_row = matches!(plan.form, Form::Rows { .. }) && plan.reduced.is_empty() && tasks == 1;
    Load { tasks, units, row_of: if is_row { BLOCK } else { 0 }, memory: MAX_LANES }
}

impl<F: Fold> Routine for Rows<F> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = F::AVX512;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let short = match self.plan.form {
            Form::Rows { len } if len <= BLOCK && self.plan.reduced.is_empty() => Some(len),
            _ => None,
        };
        if let (Some(len), Step::Whole(tasks)) = (short, &job.step) {
            // SAFETY: the tasks are the plan's, for whose tensors the caller vouches.
            return unsafe { self.fold_short::<S>(&job, tasks.clone(), len) };
        }
        let memory = job.memory.cast::<F::Acc>();
        let (tasks, units, parts, partial) = match job.step {
            // SAFETY: the row's elements are readable, and each part has working memory.
            Step::Line { ref parts, base } => return unsafe { self.fold_line::<S>(&job, parts.clone(), base) },
            Step::Whole(tasks) => (tasks, 0..load(&self.plan).units, 0, false),
            Step::Part { task, units } => (task..task + 1, units, 0, true),
            Step::Join { task, parts } => (task..task + 1, 0..0, parts, false),
        };
        let fold = self.fold.beside(job.apart);
        let mut walk = Walk::new(&self.plan.outer, tasks.start);
        for _ in tasks {
            let [from, to] = walk.offset();
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for.
            unsafe {
                let result = if parts > 0 {
                    self.join::<S>(memory, parts)
                } else {
                    self.fold_units::<S>(fold, job.input.cast::<F::In>().add(from), units.clone())
                };
                if partial {
                    self.fold.write::<S>(result, memory);
                } else {
                    let output = job.output.add(to * self.fold.out_size());
                    self.fold.complete::<S>(self.fold.fold_lanes::<S>(result), 1, &self.plan, output, 1);
                }
            }
            walk.step();
        }
    }
}

impl<F: Fold> Rows<F> {
    /// Outputs that are one block each, run by run of rows that lie evenly apart.
    ///
    /// # Safety
    /// The tasks' rows of `len` elements are readable, their outputs writable.
    #[inline(always)]
    unsafe fn fold_short<S: Simd>(&self, job: &Job, tasks: Range<usize>, len: usize) {
        let outer = &self.plan.outer;
        let (inner, outer) = match outer.split_last() {
            Some((inner, outer)) => (*inner, outer),
            None => (LoopDim { len: 1, stride: [0, 0] }, &outer[..]),
        };
        let mut walk = Walk::new(outer, tasks.start / inner.len.max(1));
        let mut task = tasks.start;
        while task < tasks.end {
            let place = task % inner.len;
            let count = (inner.len - place).min(tasks.end - task);
            let [from, to] = walk.offset();
            // SAFETY: the plan's offsets stay within the tensors.
            unsafe {
                let input = job.input.cast::<F::In>().add(from + place * inner.stride[0]);
                let output = job.output.add((to + place * inner.stride[1]) * self.fold.out_size());
                self.fold_run::<S>(input, output, inner.stride, count, len);
            }
            task += count;
            walk.step();
        }
    }

    /// `count` outputs, each of one row: those are `steps[0]` elements apart, outputs `steps[1]`.
    ///
    /// # Safety
    /// The rows of `len` elements are readable, their outputs writable.
    #[inline(always)]
    unsafe fn fold_run<S: Simd>(
        &self,
        input: *const F::In,
        output: *mut u8,
        steps: [usize; 2],
        count: usize,
        len: usize,
    ) {
        let (fold, lanes, mut row) = (self.fold, F::lanes::<S>(), 0);
        while row < count {
            // SAFETY: rows below `count` are the caller's.
            unsafe {
                let (rows, output) = (input.add(row * steps[0]), output.add(row * steps[1] * fold.out_size()));
                let (from, to) = ((rows, steps[0]), (output, steps[1]));
                if row + lanes <= count && fold.complete_rows::<S>(from, len, &self.plan, to) {
                    row += lanes;
                    continue;
                }
                let result = fold.fold_lanes::<S>(fold.fold_block::<S>(rows, len));
                fold.complete::<S>(result, 1, &self.plan, output, steps[1]);
                row += 1;
            }
        }
    }

    /// The only row, part by part.
    ///
    /// # Safety
    /// The parts' elements are readable; there is working memory for each.
    #[inline(always)]
    unsafe fn fold_line<S: Simd>(&self, job: &Job, parts: Range<usize>, base: usize) {
        const { assert!(ROW_PART == STREAMS) }
        const LINE: usize = ROW_PART * BLOCK;
        let Form::Rows { len } = self.plan.form else { unreachable!("a row is one of rows") };
        let (fold, mut memory) = (self.fold.beside(job.apart), job.memory.cast::<F::Acc>());
        for part in parts {
            checkpoint();
            let n = LINE.min(len - part * LINE);
            let mut result = fold.identity::<S>();
            // SAFETY: `n` elements of the row follow; the part's working memory has room for a vector.
            unsafe {
                let at = job.input.cast::<F::In>().add(part * LINE - base);
                if n == LINE && F::streams::<S>() == STREAMS {
                    let blocks = [at, at.add(BLOCK), at.add(2 * BLOCK), at.add(3 * BLOCK)];
                    for v in fold.fold_blocks::<S>(blocks, BLOCK) {
                        result = fold.combine_rarely::<S>(result, v);
                    }
                } else {
                    for first in (0..n).step_by(BLOCK) {
                        let v = fold.fold_block::<S>(at.add(first), BLOCK.min(n - first));
                        result = fold.combine_rarely::<S>(result, v);
                    }
                }
                fold.write::<S>(result, memory);
                memory = memory.add(MAX_LANES);
            }
        }
    }

    /// # Safety
    /// `base` is the first of an output's inputs; the units exist.
    #[inline(always)]
    unsafe fn fold_units<S: Simd>(&self, fold: F, base: *const F::In, units: Range<usize>) -> F::Vector<S> {
        if units.is_empty() {
            return fold.identity::<S>();
        }
        let mut gathered = [const { MaybeUninit::<F::In>::uninit() }; BLOCK];
        let mut blocks = Blocks::new(self, units.start);
        let mut cascade = Cascade::<F, S>::new(fold);
        let mut unit = units.start;
        while unit < units.end {
            if unit % BLOCKS == BLOCKS - 1 {
                checkpoint();
            }
            let together = match self.plan.form {
                Form::Rows { .. } if units.end - unit >= STREAMS => F::streams::<S>(),
                _ => 1,
            };
            let (mut starts, mut lens) = ([base; STREAMS], [0; STREAMS]);
            // SAFETY: blocks lie within the input, and are gathered, one at a time, before they are read.
            unsafe {
                for i in 0..together {
                    (starts[i], lens[i]) = blocks.next(base, &mut gathered);
                }
                if lens == [BLOCK; STREAMS] {
                    for v in fold.fold_blocks::<S>(starts, BLOCK) {
                        cascade.push(v);
                    }
                } else {
                    for i in 0..together {
                        let v = fold.fold_block::<S>(starts[i], lens[i]);
                        if units.len() == 1 {
                            return v;
                        }
                        cascade.push(v);
                    }
                }
            }
            unit += together;
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
            // SAFETY: `part` is below `parts`; each partial result takes MAX_LANES accumulators, at least a vector.
            let v = unsafe { fold.read::<S>(acc.add(part * MAX_LANES)) };
            cascade.push(v);
        }
        cascade.finish()
    }
}

/// Where the blocks of one output's inputs are.
struct Blocks<'a> {
    plan: &'a Plan,
    walk: Walk<'a, 1>,
    /// Length of a row; 0 where elements are scattered.
    row: usize,
    /// The next block's first element: within its row, or among all.
    start: usize,
}

impl<'a> Blocks<'a> {
    #[inline(always)]
    fn new<F>(rows: &'a Rows<F>, unit: usize) -> Self {
        let plan = &rows.plan;
        match plan.form {
            Form::Rows { len } => {
                let per_row = len.div_ceil(BLOCK).max(1);
                let walk = Walk::new(&plan.reduced, unit / per_row);
                Blocks { plan, walk, row: len, start: unit % per_row * BLOCK }
            }
            _ => Blocks { plan, walk: Walk::new(&[], 0), row: 0, start: unit * BLOCK },
        }
    }

    /// The next block: its first element and its length. Scattered elements are copied into `gathered` first.
    ///
    /// # Safety
    /// `base` is the first element of an output's inputs; there is another block.
    #[inline(always)]
    unsafe fn next<T: Copy>(&mut self, base: *const T, gathered: &mut [MaybeUninit<T>; BLOCK]) -> (*const T, usize) {
        if self.row == 0 {
            let n = BLOCK.min(self.plan.count - self.start);
            // SAFETY: positions below `count` lie within the input.
            unsafe { gather_from(base, &self.plan.reduced, self.start, &mut gathered[..n]) };
            self.start += BLOCK;
            return (gathered.as_ptr().cast(), n);
        }
        let [row] = self.walk.offset();
        let n = BLOCK.min(self.row - self.start);
        // SAFETY: the block lies within its row.
        let block = unsafe { base.add(row + self.start) };
        self.start += n;
        if self.start == self.row {
            self.start = 0;
            self.walk.step();
        }
        (block, n)
    }
}

/// Reduces a row of floats in blocks, which are added up in f64.
///
/// # Safety
/// `ptr` is valid for reading `n` elements.
#[inline(always)]
pub(crate) unsafe fn sum_row<S: Simd, T: StoredFloat, R: Reducer>(terms: R, ptr: *const T, n: usize) -> f64 {
    let fold = FloatFold::<R, T>::new(terms);
    let mut sum = 0.0;
    for start in (0..n).step_by(BLOCK) {
        // SAFETY: the block lies within the row.
        let block = unsafe { fold.fold_block::<S>(ptr.add(start), BLOCK.min(n - start)) };
        sum += fold.fold_lanes::<S>(block).first_lane().to_f64();
    }
    sum
}

/// Copies the elements from position `start` in the order of the loops, as many as `into` takes.
///
/// # Safety
/// `base` is valid for reading at every position of the loops; there are enough of them.
#[inline(never)]
unsafe fn gather_from<T: Copy>(base: *const T, loops: &[LoopDim<1>], start: usize, into: &mut [MaybeUninit<T>]) {
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
        let to = into[filled..filled + n].as_mut_ptr().cast();
        // SAFETY: the positions are the loops', and `to` has room for them.
        unsafe { gather(base.add(row + at * inner.stride[0]), inner.stride[0], to, n) };
        filled += n;
        at = 0;
        walk.step();
    }
}
