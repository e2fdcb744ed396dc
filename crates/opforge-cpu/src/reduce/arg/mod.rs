//! Where along an axis the greatest or least element stands.

mod keys;
mod plan;
mod search;

use super::plan::{check_output, split};
use crate::loops::plan::iterations;
use crate::loops::work::{GRAIN, grain};
use crate::memory::Truth;
use crate::simd::{Entry, Int, Isa, resolve};
use keys::ArgElem;
use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use opforge_tile::forms::Extreme;
use plan::{ArgPlan, TILE};
use search::{ArgPiece, ArgSearch, Tensors};
use std::marker::PhantomData;
use std::sync::Arc;

/// Pieces that a long row is searched in.
const PIECES: usize = 64;

/// Finds the first extreme element along `axis`; NaN is more extreme than any number. The output is I64 or U32 and otherwise as
/// [`super::reduce`] says.
///
/// # Errors
/// Complex inputs, an axis out of range, of length 0 or too long for the output, an output of another size or dtype.
pub fn arg_reduce(
    op: &'static str,
    extreme: Extreme,
    input: &Meta,
    axis: usize,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let (kept, reduced) = split(op, input, &[axis])?;
    check_output(op, output, &kept)?;
    super::expect_output(op, output.dtype, &[DType::I64, DType::U32])?;
    let len = reduced[0].len;
    if len == 0 && output.elem_count() > 0 || (output.dtype == DType::U32 && len > u32::MAX as usize) {
        return Err(Error::shape(op, "input", format!("{:?} along {axis}", input.shape()), "1 to 2^32 - 1 elements"));
    }
    let plan = ArgPlan::new(kept, len, reduced[0].stride[0], extreme, output.dtype == DType::I64);
    match input.dtype {
        DType::Bool => Ok(prepare::<Truth>(plan)),
        dtype => by_number!(op, dtype, T => Ok(prepare::<T>(plan))),
    }
}

struct ArgKernel<T: ArgElem> {
    piece: ArgPiece<T>,
    search_entry: Entry<ArgSearch<T>>,
    piece_entry: Entry<ArgPiece<T>>,
    tasks: usize,
}

fn prepare<T: ArgElem>(plan: ArgPlan) -> Arc<dyn HostKernel> {
    let tasks = iterations(&plan.outer) * plan.tiles();
    Arc::new(ArgKernel::<T> {
        piece: ArgPiece(ArgSearch { plan, element: PhantomData }),
        search_entry: resolve::<ArgSearch<T>>(Isa::current()),
        piece_entry: resolve::<ArgPiece<T>>(Isa::current()),
        tasks,
    })
}

impl<T: ArgElem> ArgKernel<T> {
    /// # Safety
    /// As [`HostKernel::run`] demands.
    unsafe fn run_in_pieces(&self, tensors: Tensors) {
        let plan = &self.piece.0.plan;
        let piece = plan.len.div_ceil(PIECES).max(2 * GRAIN);
        let found = Found(std::cell::UnsafeCell::new([(T::Key::least(), 0); PIECES]));
        parallel_for(plan.len, piece, |range| {
            let slot = range.start / piece;
            // SAFETY: the entry is for the processor's own ISA; a slot is written by one thread.
            unsafe {
                let result = (self.piece_entry)(&self.piece, (tensors, range));
                found.slot(slot).write(result);
            }
        });
        let found = found.0.into_inner();
        let pieces = plan.len.div_ceil(piece);
        let first_best = found[..pieces].iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
        // SAFETY: the output has one element.
        unsafe { plan.write(tensors.1, 0, first_best.map_or(0, |(_, index)| index)) };
    }
}

/// What the pieces found.
struct Found<K>(std::cell::UnsafeCell<[(K, usize); PIECES]>);
// SAFETY: threads write different slots.
unsafe impl<K: Send> Sync for Found<K> {}
impl<K> Found<K> {
    fn slot(&self, i: usize) -> *mut (K, usize) {
        self.0.get().cast::<(K, usize)>().wrapping_add(i)
    }
}

impl<T: ArgElem> HostKernel for ArgKernel<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let tensors = Tensors(inputs[0], outputs[0]);
        let search = &self.piece.0;
        let task_work = search.plan.len * if search.plan.columns.len > 0 { TILE } else { 1 };
        if self.tasks == 1 && search.plan.columns.len == 0 && search.plan.len > 4 * GRAIN {
            // SAFETY: the tensors are those of this call, the only task is one row, and the output one element.
            unsafe { self.run_in_pieces(tensors) };
        } else {
            let grain = grain(task_work / 2);
            // SAFETY: the tasks are the plan's, each with outputs of its own; the entry is for the processor's own ISA.
            parallel_for(self.tasks, grain, |tasks| unsafe { (self.search_entry)(search, (tensors, tasks)) });
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        let plan = &self.piece.0.plan;
        (iterations(&plan.outer) * plan.columns.len.max(1) * plan.len / 5) as u64
    }
}
