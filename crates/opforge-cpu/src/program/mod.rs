//! Kernels of several calls that run one after the other on blocks, so that what passes between them stays in a cache.
//!
//! The calls' common loops are cut into blocks. Each call has a kernel prepared for tensors of a block's size: where a tensor lies in memory,
//! with the strides that it has there; where it only passes from one call to the next, in working memory. No code is made at run time, and a
//! block's elements are computed by the loops that compute whole tensors.
//!
//! A reduction of all elements may follow the calls. It is computed by the parts in which its kernel always computes ([`ReduceKernel::parts`]), so
//! the bits are the same too.

pub mod sequence;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use opforge_core::{Error, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::num_threads;
use smallvec::SmallVec;

use crate::loops::fallible::try_parallel_for;
use crate::memory::scratch::buffer;
use crate::reduce::ReduceKernel;

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

/// Where a block's tensor lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In one of the program's inputs.
    Input(usize),
    /// In one of its outputs. A call may read what an earlier one has written there.
    Output(usize),
    /// In working memory, so many bytes from its start: the same for each block. A multiple of 64.
    Local(usize),
}

/// A tensor of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// Where it lies.
    pub place: Place,
    /// How many bytes each loop moves it from block to block; zeros in working memory.
    pub steps: SmallVec<[isize; 4]>,
}

/// A call of the program.
pub struct Step {
    /// Its kernel for a whole block, and for the last one of the ragged loop if there is one.
    pub kernels: (Arc<dyn HostKernel>, Option<Arc<dyn HostKernel>>),
    /// What it reads.
    pub inputs: SmallVec<[Operand; 3]>,
    /// What it writes.
    pub outputs: SmallVec<[Operand; 1]>,
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
    total: Option<Total>,
    loops: SmallVec<[Loop; 4]>,
    local_bytes: usize,
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
        let of_steps = steps.iter().flat_map(|step| step.inputs.iter().chain(&step.outputs));
        let operands = || of_steps.clone().chain(total.iter().map(|total| &total.input));
        let blocks: usize = loops.iter().map(|l| l.blocks).product();
        let parts = |total: &Total| total.kernel.parts().map_or(0, |parts| parts.count);
        if total.as_ref().is_some_and(|total| parts(total) != blocks) {
            return Err(Error::value("program", "total", "other parts", "a part for each block"));
        }
        if operands().any(|operand| operand.steps.len() != loops.len()) {
            return Err(Error::value("program", "steps", "another number", "a step for each loop"));
        }
        let ragged = loops.iter().filter(|l| l.ragged).count();
        if ragged > 1 || steps.iter().any(|step| step.kernels.1.is_some() != (ragged == 1)) {
            return Err(Error::value("program", "kernels", "others", "one for each length of a block"));
        }
        let count = |place: fn(Place) -> Option<usize>| {
            operands().filter_map(|operand| place(operand.place)).max().map_or(0, |last| last + 1)
        };
        let inputs = count(|place| if let Place::Input(i) = place { Some(i) } else { None });
        let outputs = count(|place| if let Place::Output(i) = place { Some(i) } else { None });
        let outputs = total.as_ref().map_or(outputs, |total| outputs.max(total.output + 1));
        let block: u64 = steps.iter().map(|step| step.kernels.0.cost()).sum();
        let grain = (GRAIN_NS / block.max(1)).max(1) as usize;
        let cost = block.saturating_mul(blocks as u64) + total.as_ref().map_or(0, |total| total.kernel.cost());
        Ok(Program { steps, total, loops, local_bytes, inputs, outputs, grain, cost })
    }

    /// Runs the calls on some of the blocks, with working memory at `local`.
    ///
    /// # Safety
    /// As [`HostKernel::run`]; `local` has the program's working memory, which nobody else uses.
    unsafe fn run_blocks(&self, tensors: &Tensors<'_>, local: *mut u8, blocks: Range<usize>) -> Result<()> {
        let mut at = SmallVec::<[usize; 4]>::new();
        for block in blocks {
            let ragged = self.locate(block, &mut at);
            for step in &self.steps {
                let kernel = step.kernels.1.as_ref().filter(|_| ragged).unwrap_or(&step.kernels.0);
                let address = |operand: &Operand| tensors.address(operand, local, &at);
                let inputs: SmallVec<[*const u8; 4]> = step.inputs.iter().map(|x| address(x).cast_const()).collect();
                let outputs: SmallVec<[*mut u8; 2]> = step.outputs.iter().map(address).collect();
                // SAFETY: the kernel was prepared for the blocks of these tensors, whose places these are.
                unsafe { kernel.run(&inputs, &outputs)? };
            }
            if let Some(total) = &self.total {
                let elements = tensors.address(&total.input, local, &at);
                // SAFETY: the block is the part of this number, and the calls have written its elements.
                unsafe { total.kernel.fold_part(block, elements, tensors.partial) };
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

/// The addresses of one run.
struct Tensors<'a> {
    inputs: &'a [*const u8],
    outputs: &'a [*mut u8],
    /// Memory of the total's partial results.
    partial: *mut u8,
}
// SAFETY: pointers are numbers; blocks that threads write are disjoint.
unsafe impl Sync for Tensors<'_> {}

impl Tensors<'_> {
    /// The address of an operand in a block.
    #[inline(always)]
    fn address(&self, operand: &Operand, local: *mut u8, at: &[usize]) -> *mut u8 {
        let base = match operand.place {
            Place::Local(offset) => return local.wrapping_add(offset),
            Place::Input(i) => self.inputs[i].cast_mut(),
            Place::Output(i) => self.outputs[i],
        };
        let offset: isize = operand.steps.iter().zip(at).map(|(step, &at)| step * at as isize).sum();
        base.wrapping_offset(offset)
    }
}

impl HostKernel for Program {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        if (inputs.len(), outputs.len()) != (self.inputs, self.outputs) {
            let given = format!("{} and {}", inputs.len(), outputs.len());
            let accepted = format!("{} inputs and {} outputs", self.inputs, self.outputs);
            return Err(Error::value("program", "tensors", given, accepted));
        }
        let parts = self.total.as_ref().and_then(|total| total.kernel.parts());
        let mut partial = buffer::<u8>(parts.map_or(0, |parts| parts.count * parts.bytes))?;
        let tensors = Tensors { inputs, outputs, partial: partial.as_mut_ptr() };
        let blocks: usize = self.loops.iter().map(|l| l.blocks).product();
        // All memory is taken before anything is written. The kernels use their threads' scratch memory themselves.
        let threads = num_threads().min(blocks.div_ceil(self.grain)).max(1);
        let rooms = (0..threads).map(|_| buffer::<u8>(self.local_bytes)).collect::<Result<Vec<_>>>()?;
        let rooms = Mutex::new(rooms);
        try_parallel_for(blocks, self.grain, |blocks| {
            let take = || rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut local = take().map_or_else(|| buffer::<u8>(self.local_bytes), Ok)?;
            // SAFETY: the addresses are the caller's; each range of blocks has working memory of its own.
            let result = unsafe { self.run_blocks(&tensors, local.as_mut_ptr(), blocks) };
            rooms.lock().unwrap_or_else(PoisonError::into_inner).push(local);
            result
        })?;
        if let Some(total) = &self.total {
            // SAFETY: every block has left its part; the output is the caller's.
            unsafe { total.kernel.join_parts(tensors.partial, outputs[total.output]) };
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
