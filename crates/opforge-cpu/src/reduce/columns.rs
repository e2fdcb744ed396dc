//! Many outputs side by side: rows of the input are combined into a tile of accumulators, a lane an output.

use super::cascade::{LEVELS, full_levels, levels_used};
use super::fold::Fold;
use super::gather::gather;
use super::kernel::{Job, Load, Step};
use super::plan::{Form, Plan, TILE};
use crate::loops::plan::{LoopDim, Walk, iterations};
use crate::loops::work::look_at;
use crate::simd::{Routine, Simd};
use std::ops::Range;

/// Rows that are combined before they enter the tile.
const GROUP: usize = 4;
/// No vector has more lanes.
const PADDING: usize = 16;

/// Reductions of the forms [`Form::Columns`] and [`Form::Narrow`]. A task is a tile of outputs, a unit a row.
///
/// The working memory of a task is a tile of accumulators for each level of a cascade, and room for a group of gathered rows.
pub(super) struct Columns<F> {
    pub fold: F,
    pub tiles: Tiles,
}

/// What is to be folded, whatever the fold.
pub(super) struct Tiles {
    plan: Plan,
    levels: usize,
    /// The loop over the rows of [`Form::Narrow`], the shorter last one included.
    narrow_rows: [LoopDim<1>; 1],
}

impl Tiles {
    pub fn new(plan: Plan) -> Self {
        let levels = levels_used(plan.count / GROUP, LEVELS);
        let narrow_rows = match plan.form {
            Form::Narrow { width, repeat, .. } => {
                [LoopDim { len: plan.count.div_ceil(repeat), stride: [width * repeat] }]
            }
            _ => [LoopDim { len: 1, stride: [0] }],
        };
        Tiles { plan, levels, narrow_rows }
    }
}

/// One tile of outputs.
struct Tile {
    /// Offset of the first element of the first row.
    from: usize,
    /// Offset of the first output.
    to: usize,
    /// Accumulators.
    width: usize,
}

impl Tiles {
    pub fn load(&self) -> Load {
        let units = match self.plan.form {
            Form::Narrow { repeat, .. } => self.plan.count.div_ceil(repeat),
            _ => self.plan.count,
        };
        Load { tasks: iterations(&self.plan.outer) * self.across(), units, row_of: 0, memory: self.memory() }
    }

    /// Accumulators of working memory.
    fn memory(&self) -> usize {
        (self.levels + GROUP) * TILE
    }

    /// Tiles side by side.
    fn across(&self) -> usize {
        match self.plan.form {
            Form::Columns { width, .. } => width.div_ceil(TILE),
            _ => 1,
        }
    }

    fn tile(&self, task: usize) -> Tile {
        let tiles = self.across();
        let (outer, tile) = match self.plan.form {
            // What lies between the elements of a row belongs to other outputs: take those while it is in a cache.
            Form::Columns { stride, .. } if stride != 1 => {
                let outputs = iterations(&self.plan.outer);
                (task % outputs, task / outputs)
            }
            _ => (task / tiles, task % tiles),
        };
        let [from, to] = Walk::new(&self.plan.outer, outer).offset();
        match self.plan.form {
            Form::Columns { width, stride, out_stride } => {
                let first = tile * TILE;
                Tile { from: from + first * stride, to: to + first * out_stride, width: TILE.min(width - first) }
            }
            Form::Narrow { width, repeat, .. } => Tile { from, to, width: width * repeat },
            Form::Rows { .. } | Form::Scattered => Tile { from, to, width: 1 },
        }
    }

    /// How many of these rows are whole, and how many elements a shorter last one has.
    fn whole_rows(&self, units: Range<usize>) -> (usize, usize) {
        match self.plan.form {
            Form::Narrow { width, repeat, .. } => {
                let whole = self.plan.count / repeat;
                let rest = if units.end > whole { self.plan.count % repeat * width } else { 0 };
                (units.end.min(whole) - units.start.min(whole), rest)
            }
            _ => (units.len(), 0),
        }
    }
}

impl<F: Fold> Routine for Columns<F> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = F::AVX512;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        const { assert!(size_of::<F::In>() <= size_of::<F::Acc>() && align_of::<F::In>() <= align_of::<F::Acc>()) };
        let memory = job.memory.cast::<F::Acc>();
        let (tasks, units, parts, partial) = match job.step {
            Step::Whole(tasks) => (tasks, 0..self.tiles.load().units, 0, false),
            Step::Part { task, units } => (task..task + 1, units, 0, true),
            Step::Line { .. } => unreachable!("columns are no row"),
            Step::Join { task, parts } => (task..task + 1, 0..0, parts, false),
        };
        for task in tasks {
            let tile = self.tiles.tile(task);
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for.
            unsafe {
                if parts == 0 {
                    self.fold_rows::<S>(job.input.cast::<F::In>().add(tile.from), &tile, units.clone(), memory);
                } else {
                    for part in 1..parts {
                        merge::<S, F>(self.fold, memory, memory.add(part * self.tiles.memory()), tile.width);
                    }
                }
                if !partial {
                    self.finish::<S>(memory, &tile, job.output);
                }
            }
        }
    }
}

impl<F: Fold> Columns<F> {
    /// Leaves the rows' combination in the first level.
    ///
    /// # Safety
    /// `base` is the tile's first element; the units exist; `levels` is the working memory.
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(&self, base: *const F::In, tile: &Tile, units: Range<usize>, levels: *mut F::Acc) {
        let (fold, width) = (self.fold, tile.width);
        // SAFETY: the tile's width is at most TILE; rows lie within the input, and are gathered before they are read.
        unsafe {
            for level in 0..self.tiles.levels {
                fill_identity::<S, F>(fold, levels.add(level * TILE), TILE.min(width + PADDING));
            }
            let mut rows = self.rows(base, tile, units.start, levels.add(self.tiles.levels * TILE).cast());
            let (whole, rest) = self.tiles.whole_rows(units);
            for group in 1..=whole / GROUP {
                look_at(group * GROUP * TILE);
                let pointers = [rows.next(0), rows.next(1), rows.next(2), rows.next(3)];
                fold.add_rows::<S, GROUP>(pointers, width, levels);
                for full in 0..full_levels(group, self.tiles.levels) {
                    let level = levels.add(full * TILE);
                    merge::<S, F>(fold, level.add(TILE), level, width);
                    fill_identity::<S, F>(fold, level, width);
                }
            }
            let single = whole % GROUP;
            for row in 0..single + usize::from(rest > 0) {
                fold.add_rows::<S, 1>([rows.next(0)], if row < single { width } else { rest }, levels);
            }
            for level in 1..self.tiles.levels {
                merge::<S, F>(fold, levels, levels.add(level * TILE), width);
            }
        }
    }

    #[inline(always)]
    fn rows(&self, base: *const F::In, tile: &Tile, first: usize, gathered: *mut F::In) -> Rows<'_, F::In> {
        let (walk, stride) = match self.tiles.plan.form {
            Form::Columns { stride, .. } => (Walk::new(&self.tiles.plan.reduced, first), stride),
            _ => (Walk::new(&self.tiles.narrow_rows, first), 1),
        };
        Rows { base, walk, width: tile.width, stride, gathered }
    }

    /// Finishes a tile's accumulators.
    ///
    /// # Safety
    /// `acc` holds the tile's accumulators, and `output` is the address of the kernel's output.
    #[inline(always)]
    unsafe fn finish<S: Simd>(&self, acc: *mut F::Acc, tile: &Tile, output: *mut u8) {
        let (fold, size) = (self.fold, self.fold.out_size());
        let (width, out_stride) = match self.tiles.plan.form {
            Form::Columns { out_stride, .. } => (tile.width, out_stride),
            Form::Narrow { width, repeat, out_stride } => {
                let mut half = repeat;
                while half > 1 {
                    half /= 2;
                    // Whole vectors spill from the lower half into the upper one only when that has been read.
                    // SAFETY: both halves lie within the tile, a padding vector included.
                    unsafe { merge::<S, F>(fold, acc, acc.add(half * width), half * width) };
                }
                (width, out_stride)
            }
            Form::Rows { .. } | Form::Scattered => (1, 1),
        };
        let lanes = F::lanes::<S>();
        for i in (0..width).step_by(lanes) {
            // SAFETY: tiles hold whole vectors; the outputs are the tile's.
            unsafe {
                let out = output.add((tile.to + i * out_stride) * size);
                fold.complete::<S>(fold.read::<S>(acc.add(i)), lanes.min(width - i), &self.tiles.plan, out, out_stride);
            }
        }
    }
}

/// The rows of one tile, one after another.
struct Rows<'a, T> {
    base: *const T,
    walk: Walk<'a, 1>,
    width: usize,
    stride: usize,
    /// Room for a group of rows whose elements are not neighbours.
    gathered: *mut T,
}

impl<T: Copy> Rows<'_, T> {
    /// The next row, if need be gathered in place `slot`.
    ///
    /// # Safety
    /// There is another row.
    #[inline(always)]
    unsafe fn next(&mut self, slot: usize) -> *const T {
        let [offset] = self.walk.offset();
        self.walk.step();
        // SAFETY: the row lies within the input; there is room for a tile's width in every slot.
        unsafe {
            let row = self.base.add(offset);
            if self.stride == 1 {
                return row;
            }
            let gathered = self.gathered.add(slot * TILE);
            gather(row, self.stride, gathered, self.width);
            gathered
        }
    }
}

/// Combines `width` accumulators into others.
///
/// # Safety
/// Both hold at least `width` accumulators, rounded up to whole vectors; the processor supports `S::ISA`.
#[inline(always)]
unsafe fn merge<S: Simd, F: Fold>(fold: F, into: *mut F::Acc, from: *const F::Acc, width: usize) {
    // SAFETY: both hold whole vectors for `width`; the processor supports `S::ISA`.
    unsafe { S::call(&Merge(fold), (into, from, width)) }
}

/// [`merge`] as code of its own, since it is rare and there are several places.
struct Merge<F>(F);

impl<F: Fold> Routine for Merge<F> {
    type Args = (*mut F::Acc, *const F::Acc, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (into, from, width): Self::Args) {
        for i in (0..width).step_by(F::lanes::<S>()) {
            // SAFETY: `i` is below `width`, and both sides hold it rounded up to whole vectors.
            unsafe {
                let sum = self.0.combine::<S>(self.0.read::<S>(into.add(i)), self.0.read::<S>(from.add(i)));
                self.0.write::<S>(sum, into.add(i));
            }
        }
    }
}

/// Sets the first `width` accumulators, rounded up to whole vectors.
///
/// # Safety
/// `acc` is valid for writing as many accumulators.
#[inline(always)]
unsafe fn fill_identity<S: Simd, F: Fold>(fold: F, acc: *mut F::Acc, width: usize) {
    for i in (0..width).step_by(F::lanes::<S>()) {
        // SAFETY: `i` is below `width`, and `acc` has room for it rounded up to whole vectors.
        unsafe { fold.write::<S>(fold.identity::<S>(), acc.add(i)) };
    }
}
