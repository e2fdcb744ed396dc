//! The search along rows, and down columns side by side.

use super::super::gather::gather;
use super::keys::ArgElem;
use super::plan::{ArgPlan, TILE};
use crate::loops::plan::Walk;
use crate::loops::work::{look_again, look_at};
use crate::simd::{Int, Integer, Routine, Simd};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Elements compared side by side.
const LANES: usize = 32;
/// Elements of a row between looks at which lane leads.
const BLOCK: usize = 1024;

/// The search: a task is an output, or a tile of columns.
pub(super) struct ArgSearch<T> {
    pub plan: ArgPlan,
    pub element: PhantomData<T>,
}

/// The addresses of input and output.
#[derive(Clone, Copy)]
pub(super) struct Tensors(pub *const u8, pub *mut u8);
// SAFETY: threads only read the input, and write outputs of their own.
unsafe impl Sync for Tensors {}

impl<T: ArgElem> Routine for ArgSearch<T> {
    type Args = (Tensors, Range<usize>);
    type Output = ();
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (tensors, tasks): Self::Args) {
        let plan = &self.plan;
        let tiles = plan.tiles();
        for task in tasks {
            let [from, to] = Walk::new(&plan.outer, task / tiles).offset();
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for.
            unsafe {
                let base = tensors.0.cast::<T>().add(from);
                if plan.together > 1 {
                    self.search_few_columns(base, tensors.1, to);
                } else if plan.columns.len > 0 {
                    let first = task % tiles * TILE;
                    let (width, [step, out_step]) = (TILE.min(plan.columns.len - first), plan.columns.stride);
                    self.search_columns(base.add(first * step), width, tensors.1, to + first * out_step);
                } else {
                    plan.write(tensors.1, to, self.search_row(base, 0..plan.len).1);
                }
            }
        }
    }
}

impl<T: ArgElem> ArgSearch<T> {
    /// The greatest key among these positions, and the first that has it.
    ///
    /// # Safety
    /// `base` is valid for reading at these multiples of the stride; there is at least one.
    #[inline(always)]
    unsafe fn search_row(&self, base: *const T, range: Range<usize>) -> (T::Key, usize) {
        let flip = T::Key::from_i64(self.plan.flip);
        let stride = self.plan.stride;
        // SAFETY: keys are asked for positions within the range only, where `base` is readable at the stride.
        let key = |i: usize| unsafe { base.add(i * stride).read() }.key(flip);
        let (mut best, mut best_block) = (key(range.start), range.start);
        let mut gathered = [const { MaybeUninit::<T>::uninit() }; BLOCK];
        for block in range.clone().step_by(BLOCK) {
            look_again(block - range.start);
            let n = BLOCK.min(range.end - block);
            // SAFETY: the block lies within the range, and is gathered before it is read.
            let greatest = unsafe {
                let mut elements = base.add(block * stride);
                if stride != 1 {
                    gather(elements, stride, gathered.as_mut_ptr().cast(), n);
                    elements = gathered.as_ptr().cast();
                }
                greatest_key(std::slice::from_raw_parts(elements, n), flip)
            };
            if greatest > best {
                (best, best_block) = (greatest, block);
            }
        }
        let position = (best_block..range.end).find(|&i| key(i) == best);
        (best, position.unwrap_or(best_block))
    }

    /// # Safety
    /// `base` is valid for reading `width` elements, the columns' stride apart, at every multiple of the stride; `output` is the kernel's, and the
    /// outputs from `to` on are the columns'.
    #[inline(always)]
    unsafe fn search_columns(&self, base: *const T, width: usize, output: *mut u8, to: usize) {
        let plan = &self.plan;
        let mut found = Columns::<T::Key>::new();
        // SAFETY: every row of the plan has these columns; `i` is below `width`, their number, and outputs from `to` on are theirs.
        unsafe {
            self.find(base, width, [plan.len, plan.stride], &mut found);
            for (i, &index) in found.index[..width].iter().enumerate() {
                plan.write(output, to + i * plan.columns.stride[1], index as usize);
            }
        }
    }

    /// As [`search_columns`](ArgSearch::search_columns), of all columns at once: [`ArgPlan::together`] rows are searched as one, with as many times the columns.
    ///
    /// # Safety
    /// `base` is valid for reading all columns; `output` is the kernel's, and the outputs from `to` on are the columns'.
    #[inline(always)]
    unsafe fn search_few_columns(&self, base: *const T, output: *mut u8, to: usize) {
        let plan = &self.plan;
        let (width, together) = (plan.columns.len, plan.together);
        let (rows, flip) = (plan.len / together, T::Key::from_i64(plan.flip));
        let mut found = Columns::<T::Key>::new();
        // SAFETY: `rows` rows, each of `together` of the plan's, are readable.
        unsafe { self.find(base, width * together, [rows, width * together], &mut found) };
        for column in 0..width {
            let of = |part: usize| {
                let place = part * width + column;
                (found.best[place], found.index[place] as usize * together + part)
            };
            let first = |a: (T::Key, usize), b: (T::Key, usize)| {
                if b.0 > a.0 || b.0 == a.0 && b.1 < a.1 { b } else { a }
            };
            // SAFETY: the element is one of the column's.
            let rest = (rows * together..plan.len)
                .map(|row| unsafe { (base.add(row * width + column).read().key(flip), row) });
            let (_, index) = (1..together).map(of).chain(rest).fold(of(0), first);
            // SAFETY: outputs from `to` on are the columns'.
            unsafe { plan.write(output, to + column * plan.columns.stride[1], index) };
        }
    }

    /// The greatest key of each of `width` columns, and the first row that has it.
    ///
    /// # Safety
    /// `base` is valid for reading `width` elements, the columns' stride apart, in each of `rows` rows, `stride` apart.
    #[inline(always)]
    unsafe fn find(&self, base: *const T, width: usize, [rows, stride]: [usize; 2], found: &mut Columns<T::Key>) {
        let step = self.plan.columns.stride[0];
        let flip = T::Key::from_i64(self.plan.flip);
        let Columns { best, index } = found;
        let mut gathered = [const { MaybeUninit::<T>::uninit() }; TILE];
        for row in 0..rows {
            look_at(row * TILE);
            // SAFETY: the row lies within the input, and what is gathered of it are `width` elements.
            let elements = unsafe {
                let mut first = base.add(row * stride);
                if step != 1 {
                    gather(first, step, gathered.as_mut_ptr().cast(), width);
                    first = gathered.as_ptr().cast();
                }
                std::slice::from_raw_parts(first, width)
            };
            let leads = best.as_chunks_mut::<LANES>().0.iter_mut().zip(index.as_chunks_mut::<LANES>().0);
            let (chunks, rest) = elements.as_chunks::<LANES>();
            for (chunk, (best, index)) in chunks.iter().zip(leads) {
                keep_greater(chunk, best, index, row as u32, flip);
            }
            let done = width - rest.len();
            for (i, element) in (done..width).zip(rest) {
                let key = element.key(flip);
                if key > best[i] {
                    (best[i], index[i]) = (key, row as u32);
                }
            }
        }
    }
}

/// The greatest keys of columns, and the rows that have them.
struct Columns<K> {
    best: [K; TILE],
    index: [u32; TILE],
}

impl<K: Integer> Columns<K> {
    #[inline(always)]
    fn new() -> Self {
        Columns { best: [K::least(); TILE], index: [0; TILE] }
    }
}

/// Replaces what is less than a row's element, and its index.
#[inline(always)]
fn keep_greater<T: ArgElem>(
    elements: &[T; LANES],
    best: &mut [T::Key; LANES],
    index: &mut [u32; LANES],
    row: u32,
    flip: T::Key,
) {
    // Copies, so that the compiler sees at once that they do not overlap.
    let (old_best, old_index) = (*best, *index);
    for i in 0..LANES {
        let key = elements[i].key(flip);
        best[i] = if key > old_best[i] { key } else { old_best[i] };
        index[i] = if key > old_best[i] { row } else { old_index[i] };
    }
}

/// The greatest of keys.
#[inline(always)]
fn greatest_key<T: ArgElem>(elements: &[T], flip: T::Key) -> T::Key {
    let mut lanes = [T::Key::least(); LANES];
    let (chunks, rest) = elements.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, element) in lanes.iter_mut().zip(chunk) {
            let key = element.key(flip);
            *lane = if key > *lane { key } else { *lane };
        }
    }
    let rest = rest.iter().map(|element| element.key(flip));
    lanes.into_iter().chain(rest).max().unwrap_or(T::Key::least())
}

/// Searching a piece of one row, the only task: its best key and position.
pub(super) struct ArgPiece<T>(pub ArgSearch<T>);

impl<T: ArgElem> Routine for ArgPiece<T> {
    type Args = (Tensors, Range<usize>);
    type Output = (T::Key, usize);
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (tensors, range): Self::Args) -> Self::Output {
        // SAFETY: the input's elements at the range's positions, multiples of the stride, are readable, and the range is not empty.
        unsafe { self.0.search_row(tensors.0.cast::<T>(), range) }
    }
}
