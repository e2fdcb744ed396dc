//! Kernels of several parts: products by cuBLAS and programs, which hand matrices on in memory of the kernel's own.

use std::ffi::c_int;

use opforge::operator::Lowering;
use opforge::{DType, Meta, Result};
use opforge_core::Layout;
use opforge_gpu::{Place, Program};
use opforge_runtime::{Argument, Context, Kernel, vm};
use opforge_tile::forms::Move;

use crate::backend::Cuda;
use crate::blas::{Blas, Matrix, Problem};
use crate::driver::Address;
use crate::kernel::Prepared;
use crate::memory::Block;
use crate::product::matrix;

/// A tensor that parts read or write: its first element is `offset` bytes after its place, whatever the layout's offset.
#[derive(Debug, Clone)]
pub(crate) struct Operand {
    pub place: Place,
    pub offset: usize,
    pub meta: Meta,
}

impl Operand {
    /// The tensor at a place.
    pub fn at(place: Place, meta: &Meta) -> Operand {
        Operand { place, offset: 0, meta: meta.clone() }
    }

    /// The same elements in another layout.
    pub fn laid_out(&self, dims: &[usize], stride: &[usize]) -> Result<Operand> {
        let layout = Layout::new(dims.into(), stride.into(), 0, "view")?;
        Ok(Operand { meta: Meta { dtype: self.meta.dtype, layout }, ..*self })
    }

    /// `len` indices of a dimension from `start` on.
    pub fn narrow(&self, d: usize, start: usize, len: usize) -> Result<Operand> {
        let (mut dims, stride) = (self.meta.dims().to_vec(), self.meta.layout.stride());
        dims[d] = len;
        let offset = self.offset + start * stride[d] * self.meta.dtype.size_in_bytes();
        Ok(Operand { offset, ..self.laid_out(&dims, stride)? })
    }
}

/// What is done with memory, at once.
enum Part {
    /// A product, and its operands: each a place, and the bytes from there to the first element.
    Product(Problem, [(Place, usize); 3]),
    /// A program, and its inputs and outputs, each as of a product.
    Program(Prepared, [Vec<(Place, usize)>; 2]),
}

/// Parts, one after the other.
pub(crate) struct Parts {
    on: &'static Cuda,
    blas: &'static Blas,
    op: &'static str,
    all: Vec<Part>,
    /// The bytes of each piece of memory of its own, and how many the round has.
    own: Vec<usize>,
    taken: usize,
}

impl Parts {
    pub fn new(on: &'static Cuda, blas: &'static Blas, op: &'static str) -> Self {
        Parts { on, blas, op, all: Vec::new(), own: Vec::new(), taken: 0 }
    }

    /// Begins a round, in which memory of its own is used again.
    pub fn begin(&mut self) {
        self.taken = 0;
    }

    /// A contiguous tensor in memory of its own.
    pub fn own(&mut self, dtype: DType, dims: &[usize]) -> Operand {
        let meta = Meta::contiguous(dtype, dims);
        self.own.resize(self.own.len().max(self.taken + 1), 0);
        let nbytes = &mut self.own[self.taken];
        *nbytes = meta.elem_count().saturating_mul(dtype.size_in_bytes()).max(*nbytes);
        self.taken += 1;
        Operand::at(Place::Scratch(self.taken - 1), &meta)
    }

    /// Adds a program that reads and writes these.
    pub fn run(&mut self, program: Program, reads: &[&Operand], writes: &[&Operand]) -> Result<()> {
        let places = [reads, writes].map(|of| of.iter().map(|operand| (operand.place, operand.offset)).collect());
        self.all.push(Part::Program(self.on.prepared(self.op, program)?, places));
        Ok(())
    }

    /// The same elements, contiguous in memory of its own.
    pub fn copied(&mut self, of: &Operand) -> Result<Operand> {
        let to = self.own(of.meta.dtype, of.meta.dims());
        let program = self.on.program(self.op, &Lowering::Move(Move::Copy), &[&of.meta], &[&to.meta])?;
        self.run(program, &[of], &[&to])?;
        Ok(to)
    }

    /// Adds `y = a b` for every matrix of equal leading dimensions; none where cuBLAS does not take their layouts.
    pub fn multiply(&mut self, a: &Operand, b: &Operand, y: &Operand) -> Option<()> {
        let operands = [a, b, y];
        let lead = a.meta.rank() - 2;
        let strides = operands.map(|operand| &operand.meta.layout.stride()[..lead]);
        let mut batches = joined(&a.meta.dims()[..lead], strides);
        let longest = (0..batches.len()).max_by_key(|&d| batches[d].0);
        let (count, next) = longest.map_or((1, [0; 3]), |d| batches.remove(d));
        let matrices = operands.map(|operand| last_matrix(&operand.meta));
        let of = |i: usize| {
            let (transposed, lead) = matrices[i]?;
            Some(Matrix { transposed, lead: number(lead)?, next: i64::try_from(next[i]).ok()? })
        };
        let problem = Problem {
            dtype: a.meta.dtype,
            result: y.meta.dtype,
            rows: number(y.meta.dims()[lead])?,
            columns: number(y.meta.dims()[lead + 1])?,
            depth: number(a.meta.dims()[lead + 1])?,
            count: number(count)?,
            a: of(0)?,
            b: of(1)?,
            y: of(2).filter(|y| !y.transposed)?,
            adds: false,
        };
        let sizes = operands.map(|operand| operand.meta.dtype.size_in_bytes());
        for offsets in offsets(&batches) {
            let at = [0, 1, 2].map(|i| (operands[i].place, operands[i].offset + offsets[i] * sizes[i]));
            self.all.push(Part::Product(problem, at));
        }
        Some(())
    }
}

fn number(n: usize) -> Option<c_int> {
    c_int::try_from(n).ok()
}

/// How the matrices of the last two dimensions lie, as cuBLAS takes them.
pub(crate) fn last_matrix(meta: &Meta) -> Option<(bool, usize)> {
    let lead = meta.rank() - 2;
    matrix([meta.dims(), meta.layout.stride()].map(|of| [of[lead], of[lead + 1]]))
}

/// Leading dimensions, each with the three tensors' strides, in as few as go.
fn joined(lead: &[usize], strides: [&[usize]; 3]) -> Vec<(usize, [usize; 3])> {
    let mut all: Vec<(usize, [usize; 3])> = Vec::new();
    for (d, &len) in lead.iter().enumerate().filter(|(_, len)| **len != 1) {
        let own = strides.map(|stride| stride[d]);
        match all.last_mut() {
            Some((outer_len, outer)) if *outer == own.map(|stride| stride * len) => {
                (*outer_len, *outer) = (*outer_len * len, own);
            }
            _ => all.push((len, own)),
        }
    }
    all
}

/// Where the three tensors' parts begin, in elements, for every index of these dimensions.
fn offsets(dims: &[(usize, [usize; 3])]) -> Vec<[usize; 3]> {
    dims.iter().fold(vec![[0; 3]], |all, &(len, strides)| {
        let moved = |at: [usize; 3], i: usize| [0, 1, 2].map(|t| at[t] + i * strides[t]);
        all.into_iter().flat_map(|at| (0..len).map(move |i| moved(at, i))).collect()
    })
}

impl Kernel for Parts {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let (gpu, op) = (self.on.gpu, self.op);
        gpu.enter(op)?;
        let read = |x: &Argument<'_>| x.to_read().map(|at| at.addr() as Address);
        let write = |y: &Argument<'_>| y.to_write().map(|at| at.addr() as Address);
        let inputs = inputs.iter().map(read).collect::<Result<Vec<_>>>()?;
        let outputs = outputs.iter().map(write).collect::<Result<Vec<_>>>()?;
        let own = self.own.iter().map(|&nbytes| Block::new(gpu, nbytes)).collect::<Result<Vec<_>>>()?;
        let at = |&(place, offset): &(Place, usize)| {
            let first = match place {
                Place::Input(i) => inputs[i],
                Place::Output(i) => outputs[i],
                Place::Scratch(i) => own[i].at,
            };
            first + offset as Address
        };
        for part in &self.all {
            // SAFETY: problems and programs were made for operands of these layouts at these places: the caller's tensors, and blocks of `own`.
            unsafe {
                match part {
                    Part::Product(problem, of) => {
                        self.blas.multiply(gpu, op, problem, of.each_ref().map(at))?;
                    }
                    Part::Program(program, of) => {
                        let [reads, writes] = of.each_ref().map(|places| places.iter().map(at).collect::<Vec<_>>());
                        program.run(&reads, &writes)?;
                    }
                }
            }
        }
        if vm::is_sync() { gpu.wait(op) } else { Ok(()) }
    }

    fn duration(&self) -> u64 {
        4_000 * self.all.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{joined, offsets};

    #[test]
    fn leading_dimensions_join_where_all_tensors_walk_through_them_alike() {
        assert_eq!(joined(&[2, 3], [&[36, 12], &[0, 0], &[30, 10]]), [(6, [12, 0, 10])]);
        assert_eq!(joined(&[2, 1, 3], [&[36, 7, 12], &[4, 0, 8], &[30, 0, 10]]), [(2, [36, 4, 30]), (3, [12, 8, 10])]);
        assert_eq!(joined(&[1, 1], [&[5, 7], &[5, 7], &[5, 7]]), []);
    }

    #[test]
    fn every_index_has_its_offsets() {
        assert_eq!(offsets(&[]), [[0; 3]]);
        assert_eq!(offsets(&[(2, [10, 0, 5]), (2, [1, 3, 2])]), [[0, 0, 0], [1, 3, 2], [10, 0, 5], [11, 3, 7]]);
    }
}
