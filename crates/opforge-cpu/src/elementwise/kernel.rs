//! The kernel of an elementwise function: loops over tiles, shared among threads.

mod strips;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{Error, Meta, Result};
use opforge_runtime::parallel::parallel_for;
use opforge_runtime::{HostKernel, Strips};

use super::block::Block;
use super::nest::{Axes, Axis, collapse};
use super::step::{Convert, Step};
use super::tile::{Access, JOINED, JOINED_IN_TILES, Operand, TILE_BYTES, TILE_ELEMENTS, TRANSPOSED_ELEMENTS, Tile};
use crate::copy::tile::Tile as Transposer;

/// What a thread computes at a time, in picoseconds on one core.
const CHUNK_PS: usize = 3_200_000;

/// From so many elements on, short rows are joined in tiles.
const MANY: usize = 512;

/// What an elementwise kernel is made of.
pub(super) struct Spec<const K: usize> {
    pub op: &'static str,
    pub step: Step<K>,
    /// Whether floats of 8 and 16 bits are computed in f32; otherwise elements are computed as they are stored.
    pub widen: bool,
    /// Picoseconds an element, in the cache, on one core.
    pub ps: usize,
    /// The argument that has an unacceptable value when the step fails, and what would be acceptable.
    pub failure: Option<(&'static str, &'static str)>,
}

impl<const K: usize> Spec<K> {
    /// The kernel over these layouts.
    ///
    /// # Errors
    /// Shapes that differ; an output that overlaps itself.
    pub fn kernel(self, inputs: [&Meta; K], output: &Meta) -> Result<Arc<dyn HostKernel>> {
        for input in inputs {
            if input.dims() != output.dims() {
                return Err(Error::shapes(self.op, input.shape(), output.shape(), "an output of the inputs' shape"));
            }
        }
        if output.layout.may_overlap_itself() {
            return Err(Error::value(self.op, "output", format!("{:?}", output.layout), "a layout without overlaps"));
        }
        let bytes = inputs.iter().map(|x| x.dtype.size_in_bytes()).sum::<usize>() + output.dtype.size_in_bytes();
        let ns = output.elem_count().saturating_mul(self.ps + bytes * 50) / 1000;
        let loops = match collapse(inputs, output) {
            None => Loops::Empty,
            Some(axes) => Loops::new(axes, &self, inputs, output),
        };
        let (inputs, output) = (inputs.map(|x| x.dtype.size_in_bytes()), output.dtype.size_in_bytes());
        Ok(Arc::new(Elementwise { spec: self, loops, sizes: (inputs, output), cost: 5 + ns as u64 }))
    }
}

struct Elementwise<const K: usize> {
    spec: Spec<K>,
    loops: Loops<K>,
    /// Bytes of an element of each input, and of the output.
    sizes: ([usize; K], usize),
    cost: u64,
}

enum Loops<const K: usize> {
    Empty,
    /// One short row.
    Row {
        len: usize,
        repeated: [bool; K],
    },
    Grid(Grid<K>),
}

/// The iteration space cut into blocks, numbered row-major: the outer loops, then the blocks of two inner ones.
struct Grid<const K: usize> {
    outer: Axes<K>,
    rows: usize,
    cols: usize,
    block_rows: usize,
    block_cols: usize,
    input: [Operand; K],
    output: Operand,
    tiled: bool,
    /// Whether a block's rows lie one after the other for every operand, in its tile if not in memory: they are computed as one.
    joined: bool,
    /// Blocks that a thread takes at a time.
    grain: usize,
}

impl<const K: usize> Loops<K> {
    fn new(mut axes: Axes<K>, spec: &Spec<K>, inputs: [&Meta; K], output: &Meta) -> Self {
        let count: usize = axes.iter().map(|axis| axis.len).product();
        let col = axes.pop().unwrap_or(Axis::ONCE);
        let row = take_row(&mut axes, &col, inputs);
        let operand = |meta: &Meta, row: isize, col: isize, convert: fn(_) -> Option<Convert>| {
            let size = meta.dtype.size_in_bytes();
            let convert = if spec.widen { convert(meta.dtype) } else { None };
            let wide = if convert.is_some() { size_of::<f32>() } else { size };
            Operand { size, wide, convert, access: Access::Direct, row, col }
        };
        let mut input: [Operand; K] =
            std::array::from_fn(|k| operand(inputs[k], row.input[k], col.input[k], Convert::input));
        let mut output_operand = operand(output, row.output, col.output, Convert::output);
        for x in &mut input {
            x.access = match (x.col, x.size as isize) {
                (0, _) if x.convert.is_none() => Access::Direct,
                (step, size) if (step == size || col.len == 1) && x.convert.is_none() => Access::Direct,
                (step, size) if step != size && step != 0 && x.row == size => {
                    Access::Transposed(Transposer::new(x.size))
                }
                _ => Access::Tiled,
            };
        }
        let contiguous = output_operand.col == output_operand.size as isize || col.len == 1;
        if !contiguous || output_operand.convert.is_some() {
            output_operand.access = Access::Tiled;
        }
        let is_tiled = |input: &[Operand; K], output: &Operand| input.iter().chain([output]).any(|x| !x.is_direct());
        let most = if is_tiled(&input, &output_operand) { JOINED_IN_TILES } else { JOINED };
        let joined = col.len <= most && row.len > 1 && count >= MANY;
        if joined {
            input.iter_mut().chain([&mut output_operand]).for_each(|x| x.join(col.len));
        }
        let tiled = is_tiled(&input, &output_operand);
        let chunk = (CHUNK_PS / spec.ps.max(1)).max(1024);
        if axes.is_empty() && row.len == 1 && !tiled && count <= 2 * chunk {
            return Loops::Row { len: count, repeated: std::array::from_fn(|k| col.input[k] == 0 && col.len > 1) };
        }
        let (block_rows, block_cols) = if tiled {
            let widest = input.iter().chain([&output_operand]).map(|x| x.wide.max(x.size)).max().unwrap_or(1);
            let transposed = input.iter().any(|x| matches!(x.access, Access::Transposed(_)));
            let most = if transposed { TRANSPOSED_ELEMENTS } else { TILE_ELEMENTS };
            let elements = most.min(TILE_BYTES / widest);
            let cols = col.len.min(if transposed { 1 << (elements.ilog2() / 2) } else { elements });
            (row.len.min(elements / cols), cols)
        } else {
            let cols = col.len.min(chunk);
            (row.len.min((chunk / cols).max(1)), cols)
        };
        let grain = (chunk / (block_rows * block_cols)).max(1);
        Loops::Grid(Grid {
            outer: axes,
            rows: row.len,
            cols: col.len,
            block_rows,
            block_cols,
            input,
            output: output_operand,
            tiled,
            joined,
            grain,
        })
    }
}

/// Takes the loop that makes blocks with the innermost: one along which a transposed input is contiguous, else the next.
fn take_row<const K: usize>(axes: &mut Axes<K>, col: &Axis<K>, inputs: [&Meta; K]) -> Axis<K> {
    let size = |k: usize| inputs[k].dtype.size_in_bytes() as isize;
    let transposed =
        |axis: &Axis<K>| (0..K).any(|k| col.input[k] != 0 && col.input[k] != size(k) && axis.input[k] == size(k));
    match axes.iter().position(transposed) {
        Some(i) => axes.remove(i),
        None => axes.pop().unwrap_or(Axis::ONCE),
    }
}

impl<const K: usize> HostKernel for Elementwise<K> {
    #[inline]
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (Ok(input), &[output]) = (<[*const u8; K]>::try_from(inputs), outputs) else {
            return Err(self.wrong_count(inputs.len(), outputs.len()));
        };
        let failed = match &self.loops {
            Loops::Empty => false,
            Loops::Row { len, repeated } => {
                let block =
                    Block { rows: 1, cols: *len, input, output, input_row: [0; K], output_row: 0, repeated: *repeated };
                // SAFETY: the kernel's contract is the block's.
                unsafe { self.spec.step.run(&block) }
            }
            // SAFETY: the input and output tensors are those that the grid was planned for.
            Loops::Grid(grid) => unsafe { grid.run(&self.spec.step, input, output) },
        };
        if failed { Err(self.failure()) } else { Ok(()) }
    }

    fn cost(&self) -> u64 {
        self.cost
    }

    fn strips(self: Arc<Self>) -> Option<Arc<dyn Strips>> {
        match &self.loops {
            Loops::Grid(grid) if grid.tiled || grid.joined || !grid.outer.is_empty() => None,
            Loops::Empty => None,
            Loops::Row { .. } | Loops::Grid(_) => Some(self),
        }
    }
}

impl<const K: usize> Elementwise<K> {
    #[cold]
    fn wrong_count(&self, inputs: usize, outputs: usize) -> Error {
        Error::value(self.spec.op, "tensors", format!("{inputs} and {outputs}"), format!("{K} inputs and 1 output"))
    }

    #[cold]
    fn failure(&self) -> Error {
        let (argument, accepted) = self.spec.failure.unwrap_or(("input", "values the operator has a result for"));
        Error::value(self.spec.op, argument, "an element without a result", accepted)
    }
}

/// The pointers of a run, which threads share; the blocks give each its own elements.
#[derive(Clone, Copy)]
struct Pointers<const K: usize> {
    input: [*const u8; K],
    output: *mut u8,
}
// SAFETY: pointers are numbers; the blocks that threads write through them are disjoint.
unsafe impl<const K: usize> Send for Pointers<K> {}
// SAFETY: pointers are numbers; the blocks that threads write through them are disjoint.
unsafe impl<const K: usize> Sync for Pointers<K> {}

impl<const K: usize> Pointers<K> {
    fn offset(&self, axis: &Axis<K>, steps: usize) -> Self {
        let steps = steps as isize;
        Pointers {
            input: std::array::from_fn(|k| self.input[k].wrapping_offset(steps * axis.input[k])),
            output: self.output.wrapping_offset(steps * axis.output),
        }
    }
}

/// Tiles for every operand, and one for conversions.
struct Tiles<const K: usize> {
    input: [Tile; K],
    output: Tile,
    scratch: Tile,
}

impl<const K: usize> Grid<K> {
    /// # Safety
    /// As [`HostKernel::run`].
    #[inline(never)]
    unsafe fn run(&self, step: &Step<K>, input: [*const u8; K], output: *mut u8) -> bool {
        let at = Pointers { input, output };
        let blocks = self.outer.iter().map(|axis| axis.len).product::<usize>()
            * self.rows.div_ceil(self.block_rows)
            * self.cols.div_ceil(self.block_cols);
        let failed = AtomicBool::new(false);
        parallel_for(blocks, self.grain, |range| {
            // SAFETY: the blocks lie within the tensors and are disjoint in the output.
            let any =
                unsafe { if self.tiled { self.run_tiled(step, at, range) } else { self.run_direct(step, at, range) } };
            if any {
                failed.store(true, Ordering::Relaxed);
            }
        });
        failed.into_inner()
    }

    /// Where a block begins, and its rows and columns.
    fn locate(&self, mut index: usize, mut at: Pointers<K>) -> (Pointers<K>, usize, usize) {
        let across = self.cols.div_ceil(self.block_cols);
        let down = self.rows.div_ceil(self.block_rows);
        let first_col = index % across * self.block_cols;
        index /= across;
        let first_row = index % down * self.block_rows;
        index /= down;
        for axis in self.outer.iter().rev() {
            at = at.offset(axis, index % axis.len);
            index /= axis.len;
        }
        at = at.offset(&self.steps(|x| x.row), first_row).offset(&self.steps(|x| x.col), first_col);
        (at, self.block_rows.min(self.rows - first_row), self.block_cols.min(self.cols - first_col))
    }

    fn steps(&self, step: impl Fn(&Operand) -> isize) -> Axis<K> {
        Axis { len: 0, input: std::array::from_fn(|k| step(&self.input[k])), output: step(&self.output) }
    }

    fn block(&self, at: Pointers<K>, rows: usize, cols: usize) -> Block<K> {
        Block {
            rows,
            cols,
            input: at.input,
            output: at.output,
            input_row: std::array::from_fn(|k| self.input[k].row),
            output_row: self.output.row,
            repeated: std::array::from_fn(|k| self.input[k].col == 0),
        }
    }

    /// # Safety
    /// As [`run`](Grid::run), for a range of blocks.
    unsafe fn run_direct(&self, step: &Step<K>, at: Pointers<K>, range: Range<usize>) -> bool {
        let mut failed = false;
        for index in range {
            let (at, rows, cols) = self.locate(index, at);
            // SAFETY: the block's elements are the tensors'.
            failed |= unsafe { step.run(&self.block(at, rows, cols)) };
        }
        failed
    }

    /// # Safety
    /// As [`run`](Grid::run), for a range of blocks.
    unsafe fn run_tiled(&self, step: &Step<K>, at: Pointers<K>, range: Range<usize>) -> bool {
        let mut tiles = Tiles { input: [Tile::UNINIT; K], output: Tile::UNINIT, scratch: Tile::UNINIT };
        let mut failed = false;
        for index in range {
            let (at, rows, cols) = self.locate(index, at);
            let mut block = self.block(at, rows, cols);
            // SAFETY: a block fits a tile, and its elements are the tensors'.
            unsafe {
                for k in 0..K {
                    let x = &self.input[k];
                    if !x.is_direct() {
                        let tile = tiles.input[k].as_mut_ptr();
                        (block.input_row[k], block.repeated[k]) =
                            x.fetch(at.input[k], rows, cols, tile, &mut tiles.scratch);
                        if self.joined {
                            x.spread(rows, cols, tile);
                        }
                        block.input[k] = tile;
                    }
                }
                if self.joined {
                    block.repeated = std::array::from_fn(|k| self.input[k].row == 0 && self.input[k].col == 0);
                    (block.rows, block.cols) = (1, rows * cols);
                }
                if self.output.is_direct() {
                    failed |= step.run(&block);
                    continue;
                }
                block.output = tiles.output.as_mut_ptr();
                block.output_row = (cols * self.output.wide) as isize;
                failed |= step.run(&block);
                self.output.store(block.output, at.output, rows, cols, &mut tiles.scratch);
            }
        }
        failed
    }
}
