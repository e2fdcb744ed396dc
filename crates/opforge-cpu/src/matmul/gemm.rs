//! The blocked product. A task computes a rectangle of the output: it packs a block of `b` whose strips, one register-block wide, fit the
//! first-level cache, then blocks of `a` that fit the second level, and runs a micro-kernel on every pair of strips (Goto and van de Geijn,
//! "Anatomy of high-performance matrix multiplication", 2008). The depth is never split between tasks, so results do not depend on them.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::parallel::num_threads;
use opforge_runtime::{HostKernel, Prepack, Rectangles, Then, checkpoint};

use super::micro::{Ahead, Args, Kernels};
use super::pack::{Matrix, Packing, pack_strips};
use super::prepack::{self, Strips};
use super::problem::Problem;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::matmul::operand::{Accumulator, Operand, add_to_totals, round_totals};
use crate::memory::scratch::with_scratch;

/// The deepest block.
const DEPTH: usize = 256;
/// Depth that is summed before it enters totals, where there is more of it: errors grow with the number of additions to one sum.
const MAX_DEPTH: usize = 64 * DEPTH;
/// Rows of a block of `a`; a multiple of every micro-kernel's.
pub(super) const ROWS: usize = 240;
/// Columns of a block of `b`; a multiple of every micro-kernel's.
pub(super) const COLUMNS: usize = 1152;
/// `b` is read in place where a task has at most this many strips of rows to use it for.
const STRIPS_IN_PLACE: usize = 2;
/// Strips of columns of a rectangle that others follow: with [`ROWS`] rows it fits the second level of cache.
pub(super) const STRIPS_FOLLOWED: usize = 8;
/// Multiplications below which a product is not shared among threads.
const MIN_SHARED_WORK: usize = 1 << 20;

/// The output's division into tasks of `rows x columns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub rows: usize,
    pub columns: usize,
    /// Tasks along the columns, and in all of one product.
    across: usize,
    tasks: usize,
}

pub(super) struct Gemm<T: Operand> {
    pub(super) problem: Problem,
    pub(super) kernels: Kernels<T::Acc>,
    packing: Packing<T>,
    pub(super) grid: Grid,
    /// The depth of every block but the last.
    depth: usize,
    /// How `b` is packed, where it is given packed.
    packed: Option<Strips>,
}

impl<T: Operand> Gemm<T> {
    /// The kernel for a problem of at least one output element.
    pub fn new(problem: Problem) -> Self {
        Self::with_threads(problem.clone(), Self::threads(&problem))
    }

    /// The same, divided for a number of threads.
    pub fn with_threads(problem: Problem, threads: usize) -> Self {
        let (kernels, packing) = T::for_products();
        let grid = Grid::choose::<T>(&problem, &kernels, threads, PACK);
        let depth = problem.k.div_ceil(problem.k.div_ceil(DEPTH).max(1)).max(1).next_multiple_of(packing.unit);
        Gemm { problem, kernels, packing, grid, depth, packed: None }
    }

    /// The kernel that reads `b` packed, as [`prepack::pack`] packs it.
    fn reading(&self, strips: Strips) -> Self {
        let grid = Grid::choose::<T>(&self.problem, &self.kernels, Self::threads(&self.problem), 0);
        let Gemm { problem, kernels, packing, depth, .. } = self;
        Gemm {
            problem: problem.clone(),
            kernels: *kernels,
            packing: *packing,
            grid,
            depth: *depth,
            packed: Some(strips),
        }
    }

    fn threads(problem: &Problem) -> usize {
        if problem.work() < MIN_SHARED_WORK { 1 } else { num_threads() }
    }

    /// # Safety
    /// The pointers are valid for the problem; `c` for its part that is the task.
    unsafe fn task(&self, inputs: &[*const u8], c: *mut T, task: usize, then: Option<Then<'_>>) -> Result<()> {
        let (p, grid) = (&self.problem, &self.grid);
        let (batch, tile) = (task / grid.tasks, task % grid.tasks);
        let (i, j) = (tile / grid.across * grid.rows, tile % grid.across * grid.columns);
        let (a, b) = p.offsets(batch);
        let a = Matrix { at: inputs[0].cast::<T>().wrapping_add(a), row: p.a.0, column: p.a.1 };
        let b = match self.packed {
            None => Right::Matrix(
                Matrix { at: inputs[1].cast::<T>().wrapping_add(b), row: p.b.0, column: p.b.1 }.from(0, j),
            ),
            Some(strips) => Right::Packed { at: inputs[1].cast(), strips, column: j },
        };
        let bias = p.bias.map(|step| Matrix { at: inputs[2].cast::<T>(), row: 0, column: step });
        let tile = Tile {
            gemm: self,
            a: a.from(i, 0),
            b,
            bias: bias.map(|bias| bias.from(0, j)),
            c: c.wrapping_add((batch * p.m + i) * p.n + j),
            at: [batch * p.m + i, j],
            rows: grid.rows.min(p.m - i),
            then,
        };
        let columns = grid.columns.min(p.n - j);
        for start in (0..columns).step_by(COLUMNS) {
            // SAFETY: the tile lies within the output.
            unsafe { tile.columns(start, COLUMNS.min(columns - start))? };
        }
        Ok(())
    }

    /// # Safety
    /// As [`HostKernel::run`], and as [`Rectangles::run_then`] if something follows.
    pub(super) unsafe fn tasks(&self, inputs: &[*const u8], outputs: &[*mut u8], then: Option<Then<'_>>) -> Result<()> {
        let tasks = self.grid.tasks * self.problem.batches();
        if tasks == 1 {
            // SAFETY: the pointers are those of the problem, and the only task's part of the output is all of it.
            return unsafe { self.task(inputs, outputs[0].cast(), 0, then) };
        }
        let mut pointers = [Shared(std::ptr::null()); 3];
        for (shared, &input) in pointers.iter_mut().zip(inputs) {
            *shared = Shared(input);
        }
        let c = Shared(outputs[0].cast::<T>());
        let grain = if self.problem.work() < MIN_SHARED_WORK { tasks } else { tasks.div_ceil(8 * num_threads()) };
        try_parallel_for(tasks, grain, |range| {
            let inputs = pointers.map(Shared::get);
            // SAFETY: tasks write disjoint parts of the output.
            range.into_iter().try_for_each(|task| unsafe { self.task(&inputs, c.get(), task, then) })
        })
    }
}

impl<T: Operand> HostKernel for Gemm<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.tasks(inputs, outputs, None) }
    }

    fn cost(&self) -> u64 {
        40 + (self.problem.work() / 64) as u64
    }

    fn prepack(&self) -> Option<Prepack> {
        if self.packed.is_some() || !T::EXACT || !prepack::is_worth_it(&self.problem) {
            return None;
        }
        let strips = Strips { width: self.kernels.width(), depth: self.depth, k: self.problem.k, n: self.problem.n };
        let (bytes, (row, column)) = (strips.elements() * size_of::<T::Acc>(), self.problem.b);
        let arrangement = [size_of::<T>(), strips.width, strips.k, strips.n, row, column];
        let (pack, kernel) = (prepack::pack::<T>(strips, self.problem.b), Arc::new(self.reading(strips)));
        Some(Prepack { input: 1, pack, bytes, arrangement, kernel })
    }

    fn rectangles(&self) -> Option<&dyn Rectangles> {
        (self.problem.k > 0).then_some(self)
    }
}

/// What packing costs, in multiplications an element.
const PACK: usize = 16;

impl Grid {
    /// The division with the least estimated time, in units of one step of the depth; packing `b` costs `pack_b` of them an element.
    fn choose<T: Operand>(problem: &Problem, kernels: &Kernels<T::Acc>, threads: usize, pack_b: usize) -> Self {
        let (strips, panels) = (problem.m.div_ceil(kernels.rows()), problem.n.div_ceil(kernels.width()));
        let batches = problem.batches();
        // Sums that are not made in the output live in a block of the thread's memory, which bounds the tasks.
        let least_down = if in_output::<T>(problem) { 1 } else { problem.m.div_ceil(ROWS) };
        let mut best = (usize::MAX, None);
        for down in least_down..=strips.min(least_down.max(4 * threads)) {
            let rows = strips.div_ceil(down) * kernels.rows();
            for across in 1..=panels.min((4 * threads / down).max(1)) {
                let columns = panels.div_ceil(across) * kernels.width();
                let (down, across) = (problem.m.div_ceil(rows), problem.n.div_ceil(columns));
                let rounds = (batches * down * across).div_ceil(threads);
                let time = rounds.saturating_mul(rows * columns + PACK * rows + pack_b * columns);
                if time < best.0 {
                    best = (time, Some(Grid { rows, columns, across, tasks: down * across }));
                }
            }
        }
        best.1.unwrap_or(Grid { rows: problem.m, columns: problem.n, across: 1, tasks: 1 })
    }
}

/// Whether sums are made in the output: its elements are their own sums, and there are no totals.
fn in_output<T: Operand>(problem: &Problem) -> bool {
    T::EXACT && problem.k <= MAX_DEPTH
}

type Total<T> = <<T as Operand>::Acc as Accumulator>::Total;

/// A task's part of a product.
struct Tile<'a, T: Operand> {
    gemm: &'a Gemm<T>,
    a: Matrix<T>,
    b: Right<T>,
    bias: Option<Matrix<T>>,
    c: *mut T,
    /// Where `c` begins in the output.
    at: [usize; 2],
    rows: usize,
    /// What is done with what is finished.
    then: Option<Then<'a>>,
}

/// A task's columns of `b`.
enum Right<T: Operand> {
    Matrix(Matrix<T>),
    /// All of `b`, packed; the task's columns begin at `column`.
    Packed {
        at: *const T::Acc,
        strips: Strips,
        column: usize,
    },
}

/// A block of `b`: packed strips, or the matrix itself.
struct Block<E> {
    at: *const E,
    /// From strip to strip, and from row to row of a strip.
    strip: usize,
    row: usize,
}

impl<E> Block<E> {
    /// The block from a strip on.
    fn from(&self, strip: usize) -> Block<E> {
        Block { at: self.at.wrapping_add(strip * self.strip), ..*self }
    }
}

impl<T: Operand> Tile<'_, T> {
    /// Computes columns `start .. start + count`.
    ///
    /// # Safety
    /// The matrices are valid for the tile.
    unsafe fn columns(&self, start: usize, count: usize) -> Result<()> {
        let (kernels, depth) = (&self.gemm.kernels, self.gemm.depth);
        let width = kernels.width();
        let a_size = ROWS.min(self.rows.next_multiple_of(kernels.rows())) * depth;
        let b_size = if self.gemm.packed.is_some() { 0 } else { count.next_multiple_of(width) * depth };
        let (in_output, in_totals) = (in_output::<T>(&self.gemm.problem), self.gemm.problem.k > MAX_DEPTH);
        let c_size = if in_output { 0 } else { self.rows * count };
        let totals_size = if in_totals { c_size * size_of::<Total<T>>() } else { 0 };
        with_scratch((a_size + b_size + c_size) * size_of::<T::Acc>() + totals_size, |scratch| {
            let totals = scratch.cast::<Total<T>>();
            let b_pack = scratch.wrapping_add(totals_size).cast::<T::Acc>();
            // SAFETY: the scratch holds the four parts, those with the largest elements first; the matrices hold the tile.
            unsafe {
                let (a_pack, sums) = (b_pack.add(b_size), b_pack.add(b_size + a_size));
                let (n, c) = (self.gemm.problem.n, self.c.add(start));
                let (sums, sums_row) = if in_output { (c.cast(), n) } else { (sums, count) };
                if in_totals {
                    std::slice::from_raw_parts_mut(totals, c_size).fill(Total::<T>::default());
                }
                if let Some(bias) = self.bias {
                    self.each_sum(sums, sums_row, count, |sum, j| *sum = bias.from(0, start + j).at.read().widen());
                } else if self.gemm.problem.k == 0 {
                    self.each_sum(sums, sums_row, count, |sum, _| *sum = T::Acc::default());
                }
                for p in (0..self.gemm.problem.k).step_by(depth) {
                    if p > 0 {
                        checkpoint();
                    }
                    let deep = depth.min(self.gemm.problem.k - p);
                    let block = self.block(p, start, deep, count, b_pack);
                    let next = p + deep;
                    let is_finished = in_output && next == self.gemm.problem.k;
                    for i in (0..self.rows).step_by(ROWS) {
                        let rows = ROWS.min(self.rows - i);
                        pack_strips(self.gemm.packing, self.a.from(i, p), rows, deep, kernels.rows(), a_pack);
                        let add = !begins(p, depth) || p == 0 && self.bias.is_some();
                        let multiply = |j: usize, columns: usize| {
                            let c = Output { sums: sums.add(i * sums_row + j), row: sums_row, add };
                            let block = block.from(j / width);
                            self.multiply(a_pack, &block, self.gemm.packing.rows(deep), rows, columns, c);
                        };
                        if is_finished {
                            self.each_rectangle(i, start, count, multiply)?;
                        } else {
                            multiply(0, count);
                        }
                    }
                    if in_totals && (next == self.gemm.problem.k || begins(next, depth)) {
                        let totals = std::slice::from_raw_parts_mut(totals, c_size);
                        add_to_totals(std::slice::from_raw_parts(sums, c_size), totals, false);
                    }
                }
                if in_totals {
                    let totals = std::slice::from_raw_parts(totals, c_size);
                    round_totals(totals, std::slice::from_raw_parts_mut(sums, c_size));
                }
                if !in_output {
                    for i in (0..self.rows).step_by(ROWS) {
                        for i in i..self.rows.min(i + ROWS) {
                            (self.gemm.packing.narrow)(sums.add(i * sums_row), c.add(i * n), count);
                        }
                        self.each_rectangle(i, start, count, |_, _| ())?;
                    }
                }
                Ok(())
            }
        })?
    }

    /// Finishes columns `start .. start + count` of the block of rows that begins with `i`, by `finish` with the first column, from `start` on, and
    /// how many: all, or as many at a time as others follow.
    fn each_rectangle(&self, i: usize, start: usize, count: usize, finish: impl Fn(usize, usize)) -> Result<()> {
        let Some(then) = self.then else {
            finish(0, count);
            return Ok(());
        };
        let most = STRIPS_FOLLOWED * self.gemm.kernels.width();
        (0..count).step_by(most).try_for_each(|j| {
            let columns = most.min(count - j);
            finish(j, columns);
            then([self.at[0] + i, self.at[1] + start + j], [ROWS.min(self.rows - i), columns])
        })
    }

    /// Calls `f` with every sum and its column.
    ///
    /// # Safety
    /// `sums` is valid for `count` elements of each of the tile's rows, `row` apart.
    unsafe fn each_sum(&self, sums: *mut T::Acc, row: usize, count: usize, f: impl Fn(*mut T::Acc, usize)) {
        for i in 0..self.rows {
            for j in 0..count {
                // SAFETY: `sums` has `rows` rows, `row` apart, of `count` elements.
                f(unsafe { sums.add(i * row + j) }, j);
            }
        }
    }

    /// Rows `p ..` and columns `start ..` of `b`, as micro-kernels read them.
    ///
    /// # Safety
    /// `b` has `depth` rows and `columns` columns from there on; `room` is valid for as many in whole strips, where `b` is not packed.
    unsafe fn block(&self, p: usize, start: usize, depth: usize, columns: usize, room: *mut T::Acc) -> Block<T::Acc> {
        match &self.b {
            // SAFETY: the part of `b` from there on has that many rows and columns.
            Right::Matrix(b) => unsafe { self.pack_b(b.from(p, start), depth, columns, room) },
            Right::Packed { at, strips, column } => {
                let width = strips.width;
                Block { at: at.wrapping_add(strips.at(p, column + start)), strip: width * depth, row: width }
            }
        }
    }

    /// # Safety
    /// `b` is valid for `depth x columns`, `packed` for as many in whole strips.
    unsafe fn pack_b(&self, b: Matrix<T>, depth: usize, columns: usize, packed: *mut T::Acc) -> Block<T::Acc> {
        let Gemm { kernels, packing, .. } = self.gemm;
        let width = kernels.width();
        let few_uses = self.rows <= STRIPS_IN_PLACE * kernels.rows();
        if T::EXACT && b.column == 1 && columns.is_multiple_of(kernels.lanes) && few_uses {
            return Block { at: b.at.cast(), strip: width, row: b.row };
        }
        let rows = packing.rows(depth);
        for j in (0..columns).step_by(width) {
            // SAFETY: strips begin at `j`, below `columns`: `b` has the rest of them, and `packed` whole strips of `width * rows`.
            unsafe { (packing.pack)(b.from(0, j), depth, width.min(columns - j), packed.add(j * rows), width) };
        }
        Block { at: packed, strip: width * rows, row: width }
    }

    /// Multiplies a packed block of `a` with one of `b`, of `depth` packed rows.
    ///
    /// # Safety
    /// The blocks hold `rows x depth` and `depth x columns` elements, the output `rows x columns`.
    unsafe fn multiply(
        &self,
        a: *const T::Acc,
        b: &Block<T::Acc>,
        depth: usize,
        rows: usize,
        columns: usize,
        c: Output<T::Acc>,
    ) {
        let kernels = &self.gemm.kernels;
        let (height, width) = (kernels.rows(), kernels.width());
        let meetings = rows.div_ceil(height);
        for (strip, j) in (0..columns).step_by(width).enumerate() {
            let next = b.at.wrapping_add((strip + 1) * b.strip);
            let has_next = self.gemm.packed.is_some() && j + width < columns;
            for (meeting, i) in (0..rows).step_by(height).enumerate() {
                let a = a.wrapping_add(i * depth);
                // A packed weight comes from memory: a part of its next strip is asked for at each meeting of rows and this one.
                let step = width.div_ceil(meetings);
                let ahead = match has_next {
                    true => Ahead { at: next.wrapping_add(meeting * step * depth), step },
                    false => Ahead::nothing(a),
                };
                let columns = width.min(columns - j);
                // SAFETY: all within the blocks; the kernels were chosen for this CPU.
                unsafe {
                    kernels.get(height.min(rows - i), columns)(&Args {
                        depth,
                        a,
                        b: b.at.add(strip * b.strip),
                        b_row: b.row,
                        b_offsets: std::ptr::null(),
                        c: c.sums.add(i * c.row + j),
                        c_row: c.row,
                        columns,
                        add: c.add,
                        ahead,
                    });
                }
            }
        }
    }
}

/// Whether sums begin anew at a depth, in blocks of `depth`: at 0, and where they have entered the totals.
fn begins(at: usize, depth: usize) -> bool {
    (at / depth).is_multiple_of(MAX_DEPTH / DEPTH)
}

/// Where sums go, and whether they are added to what is there.
struct Output<E> {
    sums: *mut E,
    row: usize,
    add: bool,
}
