//! What a task computes: a rectangle of the output, some columns at a time. A block of `b` and then blocks of rows, depth by depth, where sums are made in
//! the output; where they are rounded or enter totals, all of a block's depth, so that its sums stay in the second level of cache.

use opforge_core::Result;
use opforge_runtime::{Then, checkpoint};
use smallvec::SmallVec;

use super::turn::turn;
use super::{Gemm, ROWS, STRIPS_FOLLOWED, STRIPS_IN_PLACE, in_output};
use crate::matmul::micro::{Ahead, Args};
use crate::matmul::operand::{Accumulator, Operand, add_to_totals, round_totals};
use crate::matmul::pack::{Matrix, pack_strips};
use crate::matmul::prepack::Strips;
use crate::memory::scratch::with_scratch;

/// Rows of `b` that are packed together: whole tiles.
const ROWS_TOGETHER: usize = 32;
/// Strips of columns whose sums are made and rounded together.
const STRIPS_ROUNDED: usize = 4;
/// Sums after each row of them: rows a power of two apart would share few lines of a cache.
const GAP: usize = 16;

type Total<T> = <<T as Operand>::Acc as Accumulator>::Total;

/// A task's part of a product.
pub(super) struct Part<'a, T: Operand> {
    pub gemm: &'a Gemm<T>,
    pub a: Matrix<T>,
    pub b: Right<T>,
    pub bias: Option<Matrix<T>>,
    pub c: *mut T,
    /// Where `c` begins in the output.
    pub at: [usize; 2],
    pub rows: usize,
    /// What is done with what is finished.
    pub then: Option<Then<'a>>,
}

/// A task's columns of `b`.
pub(super) enum Right<T: Operand> {
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

/// Blocks one below the other.
type Blocks<E> = SmallVec<[Block<E>; 8]>;

impl<E> Block<E> {
    /// The block from a strip on.
    fn from(&self, strip: usize) -> Block<E> {
        Block { at: self.at.wrapping_add(strip * self.strip), ..*self }
    }
}

impl<T: Operand> Part<'_, T> {
    /// Computes columns `start .. start + count`.
    ///
    /// # Safety
    /// The matrices are valid for the part.
    pub unsafe fn columns(&self, start: usize, count: usize) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { if in_output::<T>(&self.gemm.problem) { self.sums(start, count) } else { self.rounded(start, count) } }
    }

    /// Elements of packed blocks of this depth: of the rows of `a`, and of `count` columns of `b`.
    fn packed(&self, count: usize, depth: usize) -> [usize; 2] {
        let Gemm { kernels, packing, packed, .. } = self.gemm;
        let a = ROWS.min(self.rows.next_multiple_of(kernels.rows())) * packing.rows(depth);
        let b = if packed.is_some() { 0 } else { count.next_multiple_of(kernels.width()) * packing.rows(depth) };
        [a, b]
    }

    /// As [`Part::columns`], sums being the output's elements.
    ///
    /// # Safety
    /// As [`Part::columns`].
    unsafe fn sums(&self, start: usize, count: usize) -> Result<()> {
        let Gemm { problem, kernels, packing, .. } = self.gemm;
        let depth = self.gemm.depth;
        let [a_size, b_size] = self.packed(count, depth);
        with_scratch((a_size + b_size) * size_of::<T::Acc>(), |scratch| {
            let b_pack = scratch.cast::<T::Acc>();
            // SAFETY: the scratch holds both blocks; the matrices hold the part, and an element of the output is a sum.
            unsafe {
                let (a_pack, sums) = (b_pack.add(b_size), self.c.add(start).cast());
                self.begin(sums, problem.n, [0, self.rows], [start, count]);
                for p in (0..problem.k).step_by(depth) {
                    if p > 0 {
                        checkpoint();
                    }
                    let deep = depth.min(problem.k - p);
                    let block = self.block(p, start, deep, count, b_pack);
                    for i in (0..self.rows).step_by(ROWS) {
                        let rows = ROWS.min(self.rows - i);
                        pack_strips(*packing, self.a.from(i, p), rows, deep, kernels.rows(), a_pack);
                        let multiply = |j: usize, columns: usize| {
                            let sums = sums.add(i * problem.n + j);
                            let c = Output { sums, row: problem.n, add: p > 0 || self.bias.is_some() };
                            self.multiply(
                                a_pack,
                                &block.from(j / kernels.width()),
                                packing.rows(deep),
                                rows,
                                columns,
                                c,
                            );
                        };
                        if p + deep == problem.k {
                            self.each_rectangle(i, start, count, multiply)?;
                        } else {
                            multiply(0, count);
                        }
                    }
                }
                Ok(())
            }
        })?
    }

    /// As [`Part::columns`], sums being apart from the output: those of few strips of columns at a time. As much of the depth is packed as enters a total
    /// at once: where that is all, `b` once, and each block of rows once.
    ///
    /// # Safety
    /// As [`Part::columns`].
    unsafe fn rounded(&self, start: usize, count: usize) -> Result<()> {
        let Gemm { problem, kernels, packing, depth, .. } = self.gemm;
        let (in_totals, deep) = (self.gemm.in_totals(), self.gemm.deep());
        let strips = if self.then.is_some() { STRIPS_FOLLOWED } else { STRIPS_ROUNDED };
        let most = count.min(strips * kernels.width());
        let [a_size, b_size] = self.packed(if in_totals { most } else { count }, deep.min(problem.k));
        let row = most.next_multiple_of(GAP) + GAP;
        let c_size = ROWS.min(self.rows) * row;
        let totals_size = if in_totals { c_size * size_of::<Total<T>>() } else { 0 };
        with_scratch((a_size + b_size + c_size) * size_of::<T::Acc>() + totals_size, |scratch| {
            let totals = scratch.cast::<Total<T>>();
            let b_pack = scratch.wrapping_add(totals_size).cast::<T::Acc>();
            // SAFETY: the scratch holds the four parts, those with the largest elements first; the matrices hold the part.
            unsafe {
                let (a_pack, sums) = (b_pack.add(b_size), b_pack.add(b_size + a_size));
                let mut blocks = if in_totals { Blocks::new() } else { self.blocks(0, start, count, b_pack) };
                for i in (0..self.rows).step_by(ROWS) {
                    let rows = ROWS.min(self.rows - i);
                    if !in_totals {
                        self.pack_rows(0, i, rows, a_pack);
                    }
                    for j in (0..count).step_by(most) {
                        let columns = most.min(count - j);
                        self.begin(sums, row, [i, rows], [start + j, columns]);
                        for from in (0..problem.k).step_by(deep) {
                            if in_totals {
                                self.pack_rows(from, i, rows, a_pack);
                                blocks = self.blocks(from, start + j, columns, b_pack);
                            }
                            let strip = if in_totals { 0 } else { j / kernels.width() };
                            for (number, block) in blocks.iter().enumerate() {
                                checkpoint();
                                let p = number * depth;
                                let packed = packing.rows((*depth).min(problem.k - from - p));
                                let a = a_pack.add(packing.strips(rows) * packing.rows(p));
                                let c = Output { sums, row, add: p > 0 || from == 0 && self.bias.is_some() };
                                self.multiply(a, &block.from(strip), packed, rows, columns, c);
                            }
                            if in_totals {
                                self.add_to_totals(sums, totals, rows * row, from);
                            }
                        }
                        self.round(sums, row, [i, rows], [start + j, columns])?;
                    }
                }
                Ok(())
            }
        })?
    }

    /// Packs blocks of rows of `a` that begin at a depth, one after the other, as deep as enters a total.
    ///
    /// # Safety
    /// `a` has the rows, and the room holds them.
    unsafe fn pack_rows(&self, from: usize, i: usize, rows: usize, room: *mut T::Acc) {
        let Gemm { problem, kernels, packing, depth, .. } = self.gemm;
        let end = problem.k.min(from + self.gemm.deep());
        for p in (from..end).step_by(*depth) {
            let to = room.wrapping_add(packing.strips(rows) * packing.rows(p - from));
            // SAFETY: `a` has these rows of the rest of the depth, and each block's room comes after those before it.
            unsafe { pack_strips(*packing, self.a.from(i, p), rows, (*depth).min(end - p), kernels.rows(), to) };
        }
    }

    /// Blocks of columns of `b` that begin at a depth, one after the other, as deep as enters a total.
    ///
    /// # Safety
    /// `b` has the columns, and the room holds those that are not packed.
    unsafe fn blocks(&self, from: usize, start: usize, columns: usize, room: *mut T::Acc) -> Blocks<T::Acc> {
        let Gemm { problem, depth, .. } = self.gemm;
        let end = problem.k.min(from + self.gemm.deep());
        let block = |p: usize| {
            let room = room.wrapping_add(self.packed(columns, p - from)[1]);
            // SAFETY: `b` has these columns of the rest of the depth, and each block's room comes after those before it.
            unsafe { self.block(p, start, (*depth).min(end - p), columns, room) }
        };
        (from..end).step_by(*depth).map(block).collect()
    }

    /// Rounds, unless the output holds sums, those of so many rows and columns, of which the first are given, to their places.
    ///
    /// # Safety
    /// The sums are `row` apart, and the places the part's alone.
    unsafe fn round(
        &self,
        sums: *mut T::Acc,
        row: usize,
        [first, rows]: [usize; 2],
        [start, columns]: [usize; 2],
    ) -> Result<()> {
        let Gemm { problem, packing, turned, .. } = self.gemm;
        // SAFETY: each row of the output from the first on has a place for each column; turned, each column is a row there.
        unsafe {
            if *turned {
                let to = self.c.add(start * problem.m + first);
                turn(*packing, Matrix { at: sums.cast_const(), row, column: 1 }, [rows, columns], to, problem.m)?;
            } else {
                for i in 0..rows {
                    let (sums, to) = (sums.add(i * row), problem.place(self.c, (first + i) * problem.n + start));
                    match problem.wide {
                        true => sums.copy_to_nonoverlapping(to.cast(), columns),
                        false => (packing.narrow)(sums, to, columns),
                    }
                }
            }
        }
        let (at, size) = ([self.at[0] + first, self.at[1] + start], [rows, columns]);
        self.then.map_or(Ok(()), |then| match turned {
            true => then([at[1], at[0]], [size[1], size[0]]),
            false => then(at, size),
        })
    }

    /// Sets the sums of `rows` rows from `first` and `columns` columns from `start` to the bias, or to 0 where nothing will be stored over them.
    ///
    /// # Safety
    /// `sums` is valid for them, with rows `row` apart.
    unsafe fn begin(&self, sums: *mut T::Acc, row: usize, [first, rows]: [usize; 2], [start, columns]: [usize; 2]) {
        if self.bias.is_none() && self.gemm.problem.k > 0 {
            return;
        }
        for i in 0..rows {
            for j in 0..columns {
                let number = if self.gemm.turned { first + i } else { start + j };
                // SAFETY: row `i` of the sums has column `j`, and the bias a number for each of the product's columns.
                unsafe {
                    let bias = self.bias.map(|bias| bias.from(0, number).at.read().widen());
                    *sums.add(i * row + j) = bias.unwrap_or_default();
                }
            }
        }
    }

    /// Adds sums of the depth from `from` on to totals, which the first of them begin; after the last they are rounded, and take the sums' places.
    ///
    /// # Safety
    /// `sums` and `totals` are valid for `n` elements.
    unsafe fn add_to_totals(&self, sums: *mut T::Acc, totals: *mut Total<T>, n: usize, from: usize) {
        // SAFETY: as the caller promises.
        let (sums, totals) =
            unsafe { (std::slice::from_raw_parts_mut(sums, n), std::slice::from_raw_parts_mut(totals, n)) };
        add_to_totals(sums, totals, from == 0);
        if from + self.gemm.deep() >= self.gemm.problem.k {
            round_totals::<T::Acc>(totals, sums);
        }
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
        // Contiguous rows are read to their ends, few at a time.
        let deep = if b.column == 1 { ROWS_TOGETHER } else { depth };
        for p in (0..depth).step_by(deep) {
            for j in (0..columns).step_by(width) {
                let to = packed.wrapping_add(j * rows + packing.rows(p) * width);
                // SAFETY: strips begin at `j`, below `columns`: `b` has the rest of them, and `packed` whole strips of `width * rows`.
                unsafe { (packing.pack)(b.from(p, j), deep.min(depth - p), width.min(columns - j), to, width) };
            }
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
        let _session = kernels.session();
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

/// Where sums go, and whether they are added to what is there.
struct Output<E> {
    sums: *mut E,
    row: usize,
    add: bool,
}
