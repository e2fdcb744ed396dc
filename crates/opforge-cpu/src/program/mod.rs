//! Kernels of several calls that run one after the other on blocks, so that what passes between them stays in a cache.
//!
//! The calls' common loops are cut into blocks. Each call has a kernel prepared for tensors of a block's size: where a tensor lies in memory,
//! with the strides that it has there; where it only passes from one call to the next, in working memory. No code is made at run time, and a
//! block's elements are computed by the loops that compute whole tensors. Calls of single elements that follow each other run on smaller parts yet
//! (`strips`).
//!
//! A reduction of all elements may follow the calls. It is computed by the parts in which its kernel always computes ([`ReduceKernel::parts`]), so
//! the bits are the same too.

mod ahead;
mod followed;
mod group;
pub mod sequence;
mod steps;
mod strips;

use std::ops::Range;
use std::sync::Arc;

use opforge_core::{Error, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::num_threads;
use smallvec::SmallVec;

use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::memory::scratch::buffer;
use crate::reduce::ReduceKernel;
pub use followed::{Followed, Product};
pub use steps::{Operand, Place, Step};
use steps::{Rooms, Tensors};
use strips::Plans;

/// Nanoseconds of work that are worth a thread's while.
const GRAIN_NS: u64 = 20_000;

/// One of the common loops, cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// How many blocks.
    pub blocks: usize,
    /// Whether the last block is shorter than the others. At most one loop has such a block.
    pub ragged: bool,
}

/// A reduction of what the calls make to one element.
pub struct Total {
    /// Its kernel, of as many parts as the program has blocks.
    pub kernel: Arc<ReduceKernel>,
    /// What is reduced: a block is a part.
    pub input: Operand,
    /// The number of the output that it is written to.
    pub output: usize,
}

/// A program: its calls in order, run for each block of the loops, outermost first.
pub struct Program {
    steps: Vec<Step>,
    plans: Plans,
    total: Option<Total>,
    loops: SmallVec<[Loop; 4]>,
    inputs: usize,
    outputs: usize,
    /// Blocks that a thread takes at a time.
    grain: usize,
    cost: u64,
}

impl Program {
    /// The kernel of these calls over these loops, with so much working memory.
    ///
    /// # Errors
    /// Operands that have not one step for each loop, and blocks that no kernel is given for.
    pub fn new(steps: Vec<Step>, total: Option<Total>, loops: SmallVec<[Loop; 4]>, local_bytes: usize) -> Result<Self> {
        let operands = || steps.iter().flat_map(Step::operands).chain(total.iter().map(|total| &total.input));
        let blocks: usize = loops.iter().map(|l| l.blocks).product();
        let parts = |total: &Total| total.kernel.parts().map_or(0, |parts| parts.count);
        if total.as_ref().is_some_and(|total| parts(total) != blocks) {
            return Err(Error::value("program", "total", "other parts", "a part for each block"));
        }
        if operands().any(|operand| operand.steps.len() != loops.len()) {
            return Err(Error::value("program", "steps", "another number", "a step for each loop"));
        }
        let ragged = loops.iter().filter(|l| l.ragged).count();
        if ragged > 1 || steps.iter().any(|step| step.kernels.len() != 1 + ragged) {
            return Err(Error::value("program", "kernels", "others", "one for each length of a block"));
        }
        let (inputs, outputs) = steps::tensors(operands().map(|operand| operand.place));
        let outputs = total.as_ref().map_or(outputs, |total| outputs.max(total.output + 1));
        let block: u64 = steps.iter().map(|step| step.kernels[0].cost()).sum();
        let grain = (GRAIN_NS / block.max(1)).max(1) as usize;
        let cost = block.saturating_mul(blocks as u64) + total.as_ref().map_or(0, |total| total.kernel.cost());
        let read_after: Vec<Place> = total.iter().map(|total| total.input.place).collect();
        let plans = Plans::new(&steps, 1 + ragged, &read_after, local_bytes);
        Ok(Program { steps, plans, total, loops, inputs, outputs, grain, cost })
    }

    /// Runs the calls on some of the blocks, with working memory at `local` and that of the total's partial results.
    ///
    /// # Safety
    /// As [`HostKernel::run`]; `local` has the program's working memory, which nobody else uses, and `partial` each block's part.
    unsafe fn run_blocks(
        &self,
        tensors: &Tensors<'_>,
        partial: *mut u8,
        local: *mut u8,
        blocks: Range<usize>,
    ) -> Result<()> {
        let mut at = SmallVec::<[usize; 4]>::new();
        for block in blocks {
            let size = usize::from(self.locate(block, &mut at));
            // SAFETY: the kernels were prepared for the blocks of these tensors, whose places these are.
            unsafe { self.plans.run((&self.steps, size), tensors, local, &at)? };
            if let Some(total) = &self.total {
                let elements = tensors.address(&total.input, local, &at);
                // SAFETY: the block is the part of this number, and the calls have written its elements.
                unsafe { total.kernel.fold_part(block, elements, partial) };
            }
        }
        Ok(())
    }

    /// Finds a block's number along each loop; says whether it is a short one.
    fn locate(&self, mut block: usize, at: &mut SmallVec<[usize; 4]>) -> bool {
        at.clear();
        at.resize(self.loops.len(), 0);
        let mut ragged = false;
        for (at, l) in at.iter_mut().zip(&self.loops).rev() {
            *at = block % l.blocks;
            block /= l.blocks;
            ragged |= l.ragged && *at + 1 == l.blocks;
        }
        ragged
    }
}

impl HostKernel for Program {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        steps::check((inputs.len(), outputs.len()), (self.inputs, self.outputs))?;
        let parts = self.total.as_ref().and_then(|total| total.kernel.parts());
        let mut partial = buffer::<u8>(parts.map_or(0, |parts| parts.count * parts.bytes))?;
        let tensors = Tensors { inputs, outputs };
        let partial = Shared(partial.as_mut_ptr());
        let blocks: usize = self.loops.iter().map(|l| l.blocks).product();
        // All memory is taken before anything is written. The kernels use their threads' scratch memory themselves.
        let threads = num_threads().min(blocks.div_ceil(self.grain)).max(1);
        let rooms = Rooms::new(threads, self.plans.bytes)?;
        try_parallel_for(blocks, self.grain, |blocks| {
            // SAFETY: the addresses are the caller's; each range of blocks has working memory of its own.
            rooms.with(|local| unsafe { self.run_blocks(&tensors, partial.get(), local, blocks) })
        })?;
        if let Some(total) = &self.total {
            // SAFETY: every block has left its part; the output is the caller's.
            unsafe { total.kernel.join_parts(partial.get(), outputs[total.output]) };
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
