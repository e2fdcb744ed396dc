//! The blocked product. A task computes a rectangle of the output: it packs a block of `b` whose strips, one register-block wide, fit the
//! first-level cache, then blocks of `a` that fit the second level, and runs a micro-kernel on every pair of strips (Goto and van de Geijn,
//! "Anatomy of high-performance matrix multiplication", 2008). The depth is never split between tasks, so results do not depend on them.

mod part;
mod turn;

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::parallel::num_threads;
use opforge_runtime::{HostKernel, Prepack, Rectangles, Then};

use super::micro::Kernels;
use super::pack::{Matrix, Packing};
use super::prepack::{self, Strips};
use super::problem::Problem;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::matmul::operand::Operand;
use part::{Part, Right};

/// The deepest block.
const DEPTH: usize = 256;
/// Depth that is summed before it enters totals, where there is more of it: errors grow with the number of additions to one sum.
const MAX_DEPTH: usize = 64 * DEPTH;
/// Rows of a block of `a`; a multiple of every micro-kernel's.
pub(super) const ROWS: usize = 240;
/// Columns of a block of `b`; a multiple of every micro-kernel's.
pub(super) const COLUMNS: usize = 1152;
/// Bytes of the packed columns of `b` whose sums are apart from the output, at most.
const PACKED: usize = 16 << 20;
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
    /// Whether the problem is that of the transposes, and rows of its output are columns.
    pub(super) turned: bool,
}

impl<T: Operand> Gemm<T> {
    /// The kernel for a problem of at least one output element.
    pub fn new(problem: Problem) -> Self {
        Self::with_threads(problem.clone(), Self::threads(&problem))
    }

    /// The same, divided for a number of threads.
    pub fn with_threads(problem: Problem, threads: usize) -> Self {
        let (kernels, packing) = T::for_products();
        let turned = !problem.wide && packing.left.is_some() && problem.b.0 == 1 && 2 * problem.m <= problem.n;
        let problem = if turned { problem.turned() } else { problem };
        let grid = Grid::choose(&problem, &kernels, threads, PACK);
        let depth = problem.k.div_ceil(problem.k.div_ceil(DEPTH).max(1)).max(1);
        let depth = depth.next_multiple_of(packing.unit * packing.whole);
        Gemm { problem, kernels, packing, grid, depth, packed: None, turned }
    }

    /// The kernel that reads `b` packed, as [`prepack::pack`] packs it.
    fn reading(&self, strips: Strips) -> Self {
        let grid = Grid::choose(&self.problem, &self.kernels, Self::threads(&self.problem), 0);
        let Gemm { problem, kernels, packing, depth, .. } = self;
        Gemm {
            problem: problem.clone(),
            kernels: *kernels,
            packing: *packing,
            grid,
            depth: *depth,
            packed: Some(strips),
            turned: false,
        }
    }

    /// Columns that are computed together, at most: where sums are apart from the output, `b` is packed for them as deep as sums are made.
    pub(super) fn most_columns(&self) -> usize {
        let packed = self.packing.rows(self.problem.k.min(self.deep()));
        let fit = PACKED / (packed * size_of::<T::Acc>()).max(1);
        let width = self.kernels.width();
        if in_output::<T>(&self.problem) { COLUMNS } else { (fit / width * width).clamp(width, COLUMNS) }
    }

    /// Whether there is so much to sum that sums enter totals.
    fn in_totals(&self) -> bool {
        self.problem.k > MAX_DEPTH
    }

    /// The depth whose sums are made before they enter totals, in whole blocks.
    fn deep(&self) -> usize {
        self.depth * (MAX_DEPTH / DEPTH)
    }

    fn threads(problem: &Problem) -> usize {
        if problem.work() < MIN_SHARED_WORK { 1 } else { num_threads() }
    }

    /// # Safety
    /// The pointers are valid for the problem; `c` for its part that is the task.
    unsafe fn task(&self, inputs: &[*const u8], c: *mut T, task: usize, then: Option<Then<'_>>) -> Result<()> {
        let (p, grid) = (&self.problem, &self.grid);
        let (batch, part) = (task / grid.tasks, task % grid.tasks);
        let (i, j) = (part / grid.across * grid.rows, part % grid.across * grid.columns);
        let (a, b) = p.offsets(batch);
        let [left, right] = if self.turned { [1, 0] } else { [0, 1] };
        let a = Matrix { at: inputs[left].cast::<T>().wrapping_add(a), row: p.a.0, column: p.a.1 };
        let b = match self.packed {
            None => Right::Matrix(
                Matrix { at: inputs[right].cast::<T>().wrapping_add(b), row: p.b.0, column: p.b.1 }.from(0, j),
            ),
            Some(strips) => Right::Packed { at: inputs[1].cast(), strips, column: j },
        };
        let bias = p.bias.map(|step| Matrix { at: inputs[2].cast::<T>(), row: 0, column: step });
        let (place, at) = match self.turned {
            true => ((batch * p.n + j) * p.m + i, [i, batch * p.n + j]),
            false => ((batch * p.m + i) * p.n + j, [batch * p.m + i, j]),
        };
        let part = Part {
            gemm: self,
            a: a.from(i, 0),
            b,
            bias: bias.map(|bias| bias.from(0, if self.turned { i } else { j })),
            c: p.place(c, place),
            at,
            rows: grid.rows.min(p.m - i),
            then,
        };
        let columns = grid.columns.min(p.n - j);
        let most = self.most_columns();
        for start in (0..columns).step_by(most) {
            // SAFETY: the part lies within the output.
            unsafe { part.columns(start, most.min(columns - start))? };
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
    fn choose<E>(problem: &Problem, kernels: &Kernels<E>, threads: usize, pack_b: usize) -> Self {
        let (strips, panels) = (problem.m.div_ceil(kernels.rows()), problem.n.div_ceil(kernels.width()));
        let batches = problem.batches();
        let mut best = (usize::MAX, None);
        for down in 1..=strips.min(4 * threads) {
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
