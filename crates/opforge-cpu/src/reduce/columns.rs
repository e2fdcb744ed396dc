//! Many outputs side by side: rows of the input are combined into a tile of accumulators, a lane an output.

use super::cascade::{full_levels, levels_used};
use super::fold::Fold;
use super::kernel::{Job, Loops, Step};
use super::plan::{Form, Plan, TILE};
use crate::plan::{LoopDim, LoopDims, Walk, iterations};
use crate::simd::{Routine, Simd};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Rows that are combined before they enter the tile.
const GROUP: usize = 4;
/// No vector has more lanes.
const PADDING: usize = 16;

/// Reductions of the forms [`Form::Columns`] and [`Form::Narrow`]. A task is a tile of outputs, a unit a row.
///
/// The tile is the lowest of `LEVELS` levels of a cascade.
pub(super) struct Columns<F, const LEVELS: usize> {
    pub fold: F,
    pub plan: Plan,
}

impl<F, const LEVELS: usize> Columns<F, LEVELS> {
    /// Whether so many levels are enough for the plan's rows.
    pub fn suffices(plan: &Plan) -> bool {
        levels_used(plan.count / GROUP, LEVELS + 1) <= LEVELS
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

/// `LEVELS` tiles of accumulators.
type Levels<A, const LEVELS: usize> = [[MaybeUninit<A>; TILE]; LEVELS];

impl<F: Fold, const LEVELS: usize> Columns<F, LEVELS> {
    fn tiles(&self) -> usize {
        match self.plan.form {
            Form::Columns { width, .. } => width.div_ceil(TILE),
            _ => 1,
        }
    }

    fn tile(&self, task: usize) -> Tile {
        let tiles = self.tiles();
        let [from, to] = Walk::new(&self.plan.outer, task / tiles).offset();
        match self.plan.form {
            Form::Columns { width, stride, out_stride } => {
                let first = task % tiles * TILE;
                Tile { from: from + first * stride, to: to + first * out_stride, width: TILE.min(width - first) }
            }
            Form::Narrow { width, repeat, .. } => Tile { from, to, width: width * repeat },
            Form::Rows { .. } | Form::Scattered => Tile { from, to, width: 1 },
        }
    }
}

impl<F: Fold, const LEVELS: usize> Loops for Columns<F, LEVELS> {
    type Acc = F::Acc;
    fn tasks(&self) -> usize {
        iterations(&self.plan.outer) * self.tiles()
    }
    fn units(&self) -> usize {
        match self.plan.form {
            Form::Narrow { repeat, .. } => self.plan.count.div_ceil(repeat),
            _ => self.plan.count,
        }
    }
    fn part_len(&self) -> usize {
        TILE
    }
}

impl<F: Fold, const LEVELS: usize> Routine for Columns<F, LEVELS> {
    type Args = Job<F::Acc>;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Self::Args) {
        let mut levels = [const { [const { MaybeUninit::uninit() }; TILE] }; LEVELS];
        let input = job.input.cast::<F::In>();
        // SAFETY: the plan's offsets stay within the tensors that the caller vouches for.
        unsafe {
            match job.step {
                Step::Whole(tasks) => {
                    let units = self.units();
                    for task in tasks {
                        let tile = self.tile(task);
                        self.fold_rows::<S>(input.add(tile.from), &tile, 0..units, &mut levels);
                        self.write::<S>(levels[0].as_mut_ptr().cast(), &tile, job.output);
                    }
                }
                Step::Part { task, units, acc } => {
                    let tile = self.tile(task);
                    self.fold_rows::<S>(input.add(tile.from), &tile, units, &mut levels);
                    acc.cast::<MaybeUninit<F::Acc>>().copy_from_nonoverlapping(levels[0].as_ptr(), TILE);
                }
                Step::Join { task, acc, parts } => {
                    let tile = self.tile(task);
                    for part in 1..parts {
                        merge::<S, F>(self.fold, acc, acc.add(part * TILE), tile.width);
                    }
                    self.write::<S>(acc, &tile, job.output);
                }
            }
        }
    }
}

impl<F: Fold, const LEVELS: usize> Columns<F, LEVELS> {
    /// Leaves the rows' combination in the first level.
    ///
    /// # Safety
    /// `base` is the tile's first element; the units exist.
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(
        &self,
        base: *const F::In,
        tile: &Tile,
        units: Range<usize>,
        levels: &mut Levels<F::Acc, LEVELS>,
    ) {
        let used = levels_used(units.len() / GROUP, LEVELS);
        for level in &mut levels[..used] {
            fill_identity::<S, F>(self.fold, level, TILE.min(tile.width + PADDING));
        }
        // SAFETY: the tile's width is at most TILE; rows lie within the input.
        unsafe {
            match self.plan.form {
                Form::Columns { stride: 1, .. } => {
                    self.fold_contiguous::<S>(base, &self.plan.reduced, tile.width, units, levels);
                }
                Form::Columns { stride, .. } => self.fold_strided::<S>(base, stride, tile.width, units, levels),
                Form::Narrow { width, repeat, .. } => {
                    let rows = self.plan.count / repeat;
                    let loops: LoopDims<1> = LoopDims::from_elem(LoopDim { len: rows.max(1), stride: [tile.width] }, 1);
                    let whole = units.start..units.end.min(rows);
                    self.fold_contiguous::<S>(base, &loops, tile.width, whole, levels);
                    if units.end > rows {
                        let rest = (self.plan.count - rows * repeat) * width;
                        let row = base.add(rows * tile.width);
                        add_rows::<S, F, 1>(self.fold, [row], rest, levels[0].as_mut_ptr().cast());
                    }
                }
                Form::Rows { .. } | Form::Scattered => {}
            }
            for level in 1..used {
                let (low, high) = levels.split_at_mut(level);
                merge::<S, F>(self.fold, low[0].as_mut_ptr().cast(), high[0].as_ptr().cast(), tile.width);
            }
        }
    }

    /// # Safety
    /// As [`Columns::fold_rows`], for rows of neighbouring elements at the loops' offsets.
    #[inline(always)]
    unsafe fn fold_contiguous<S: Simd>(
        &self,
        base: *const F::In,
        loops: &[LoopDim<1>],
        width: usize,
        rows: Range<usize>,
        levels: &mut Levels<F::Acc, LEVELS>,
    ) {
        let mut walk = Walk::new(loops, rows.start);
        let mut next = || {
            let [row] = walk.offset();
            walk.step();
            // SAFETY: the walk stays within the input.
            unsafe { base.add(row) }
        };
        // SAFETY: the caller's; all levels in use hold accumulators.
        unsafe {
            for group in 1..=rows.len() / GROUP {
                let group_rows = [next(), next(), next(), next()];
                add_rows::<S, F, GROUP>(self.fold, group_rows, width, levels[0].as_mut_ptr().cast());
                self.carry::<S>(group, width, levels);
            }
            for _ in 0..rows.len() % GROUP {
                add_rows::<S, F, 1>(self.fold, [next()], width, levels[0].as_mut_ptr().cast());
            }
        }
    }

    /// # Safety
    /// As [`Columns::fold_rows`], for elements `stride` apart.
    #[inline(always)]
    unsafe fn fold_strided<S: Simd>(
        &self,
        base: *const F::In,
        stride: usize,
        width: usize,
        rows: Range<usize>,
        levels: &mut Levels<F::Acc, LEVELS>,
    ) {
        let mut gathered = [const { MaybeUninit::<F::In>::uninit() }; TILE];
        let mut walk = Walk::new(&self.plan.reduced, rows.start);
        for row in 1..=rows.len() {
            let [offset] = walk.offset();
            walk.step();
            // SAFETY: the elements lie within the input, and `width` are gathered before they are read.
            unsafe {
                for (i, element) in gathered[..width].iter_mut().enumerate() {
                    element.write(base.add(offset + i * stride).read());
                }
                add_rows::<S, F, 1>(self.fold, [gathered.as_ptr().cast()], width, levels[0].as_mut_ptr().cast());
                if row % GROUP == 0 {
                    self.carry::<S>(row / GROUP, width, levels);
                }
            }
        }
    }

    /// Moves full levels up.
    ///
    /// # Safety
    /// All levels in use hold accumulators.
    #[inline(always)]
    unsafe fn carry<S: Simd>(&self, group: usize, width: usize, levels: &mut Levels<F::Acc, LEVELS>) {
        for full in 0..full_levels(group, LEVELS) {
            let (low, high) = levels.split_at_mut(full + 1);
            // SAFETY: the caller's.
            unsafe { merge::<S, F>(self.fold, high[0].as_mut_ptr().cast(), low[full].as_ptr().cast(), width) };
            fill_identity::<S, F>(self.fold, &mut low[full], width);
        }
    }

    /// Finishes a tile's accumulators.
    ///
    /// # Safety
    /// `acc` holds the tile's accumulators, and `output` is the address of the kernel's output.
    #[inline(always)]
    unsafe fn write<S: Simd>(&self, acc: *mut F::Acc, tile: &Tile, output: *mut u8) {
        let (fold, size) = (self.fold, self.fold.out_size());
        let (width, out_stride) = match self.plan.form {
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
            Form::Columns { out_stride, .. } => (tile.width, out_stride),
            Form::Rows { .. } | Form::Scattered => (1, 1),
        };
        let lanes = F::lanes::<S>();
        for i in (0..width).step_by(lanes) {
            // SAFETY: tiles hold whole vectors; the outputs are the tile's.
            unsafe {
                let out = output.add((tile.to + i * out_stride) * size);
                fold.finish::<S>(acc.add(i), lanes.min(width - i), self.plan.count, out, out_stride);
            }
        }
    }
}

/// Combines rows, and adds them to the accumulators.
///
/// # Safety
/// The rows are valid for reading `width` elements; `acc` holds a tile of accumulators.
#[inline(always)]
unsafe fn add_rows<S: Simd, F: Fold, const N: usize>(fold: F, rows: [*const F::In; N], width: usize, acc: *mut F::Acc) {
    let lanes = F::lanes::<S>();
    let mut i = 0;
    // SAFETY: reads of rows end at or before element `width`; tiles hold whole vectors.
    unsafe {
        while i + lanes <= width {
            let mut sum = fold.load::<S>(rows[0].add(i));
            for row in rows.iter().skip(1) {
                sum = fold.combine::<S>(sum, fold.load::<S>(row.add(i)));
            }
            let acc = acc.add(i);
            fold.write::<S>(fold.combine::<S>(fold.read::<S>(acc), sum), acc);
            i += lanes;
        }
        if i < width {
            let acc = acc.add(i);
            let mut sum = fold.read::<S>(acc);
            for row in rows {
                sum = fold.combine::<S>(sum, fold.load_partial::<S>(row.add(i), width - i));
            }
            fold.write::<S>(sum, acc);
        }
    }
}

/// Combines `width` accumulators into others.
///
/// # Safety
/// Both hold at least `width` accumulators, rounded up to whole vectors.
#[inline(always)]
unsafe fn merge<S: Simd, F: Fold>(fold: F, into: *mut F::Acc, from: *const F::Acc, width: usize) {
    for i in (0..width).step_by(F::lanes::<S>()) {
        // SAFETY: the caller's.
        unsafe {
            fold.write::<S>(fold.combine::<S>(fold.read::<S>(into.add(i)), fold.read::<S>(from.add(i))), into.add(i))
        };
    }
}

/// Sets the first `width` accumulators, rounded up to whole vectors.
#[inline(always)]
fn fill_identity<S: Simd, F: Fold>(fold: F, tile: &mut [MaybeUninit<F::Acc>; TILE], width: usize) {
    for i in (0..width).step_by(F::lanes::<S>()) {
        // SAFETY: a tile holds whole vectors, and `width` is at most its length.
        unsafe { fold.write::<S>(fold.identity::<S>(), tile.as_mut_ptr().add(i).cast()) };
    }
}
