//! Calls of a program: where their tensors lie, and how they run on a block.

use std::sync::{Arc, Mutex, PoisonError};

use opforge_core::{Error, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Room;
pub use opforge_runtime::sequence::Place;
use smallvec::SmallVec;

use crate::memory::scratch::buffer;

/// A tensor of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// Where it lies.
    pub place: Place,
    /// How many bytes it moves by a step along each loop; zeros in working memory.
    pub steps: SmallVec<[isize; 4]>,
}

/// A call of the program.
pub struct Step {
    /// Its kernels, for each size of a block: a whole one, and the last one of the ragged loop if there is one.
    pub kernels: SmallVec<[Arc<dyn HostKernel>; 2]>,
    /// What it reads.
    pub inputs: SmallVec<[Operand; 3]>,
    /// What it writes.
    pub outputs: SmallVec<[Operand; 1]>,
}

impl Step {
    /// The inputs, then the outputs.
    pub(super) fn operands(&self) -> impl Iterator<Item = &Operand> {
        self.inputs.iter().chain(&self.outputs)
    }
}

/// The addresses of one run.
pub(super) struct Tensors<'a> {
    pub inputs: &'a [*const u8],
    pub outputs: &'a [*mut u8],
}
// SAFETY: pointers are numbers; blocks that threads write are disjoint.
unsafe impl Sync for Tensors<'_> {}

impl Tensors<'_> {
    /// The address of an operand in a block.
    #[inline(always)]
    pub fn address(&self, operand: &Operand, local: *mut u8, at: &[usize]) -> *mut u8 {
        let base = match operand.place {
            Place::Local(offset) => return local.wrapping_add(offset),
            Place::Input(i) => self.inputs[i].cast_mut(),
            Place::Output(i) => self.outputs[i],
        };
        let offset: isize = operand.steps.iter().zip(at).map(|(step, &at)| step * at as isize).sum();
        base.wrapping_offset(offset)
    }
}

/// Runs a call on a block: of which size it is, and where it is along each loop.
///
/// # Safety
/// The kernel of this size was prepared for the blocks of these tensors; `local` has the program's working memory, which nobody else uses.
pub(super) unsafe fn run_step(
    step: &Step,
    size: usize,
    tensors: &Tensors<'_>,
    local: *mut u8,
    at: &[usize],
) -> Result<()> {
    let address = |operand: &Operand| tensors.address(operand, local, at);
    let inputs: SmallVec<[*const u8; 4]> = step.inputs.iter().map(|x| address(x).cast_const()).collect();
    let outputs: SmallVec<[*mut u8; 2]> = step.outputs.iter().map(address).collect();
    // SAFETY: the kernel was prepared for the blocks of these tensors, whose places these are.
    unsafe { step.kernels[size].run(&inputs, &outputs) }
}

/// How many inputs and outputs there are, of these places.
pub(super) fn tensors(places: impl Iterator<Item = Place>) -> (usize, usize) {
    places.fold((0, 0), |(inputs, outputs), place| match place {
        Place::Input(i) => (inputs.max(i + 1), outputs),
        Place::Output(i) => (inputs, outputs.max(i + 1)),
        Place::Local(_) => (inputs, outputs),
    })
}

/// Refuses other numbers of inputs and outputs than a program has.
pub(super) fn check(given: (usize, usize), accepted: (usize, usize)) -> Result<()> {
    if given == accepted {
        return Ok(());
    }
    let accepted = format!("{} inputs and {} outputs", accepted.0, accepted.1);
    Err(Error::value("program", "tensors", format!("{} and {}", given.0, given.1), accepted))
}

/// Working memory for threads, taken before anything is written. The kernels use their threads' scratch memory themselves.
pub(super) struct Rooms {
    free: Mutex<Vec<Room<u8>>>,
    bytes: usize,
}

impl Rooms {
    pub fn new(count: usize, bytes: usize) -> Result<Self> {
        let free = (0..count).map(|_| buffer::<u8>(bytes)).collect::<Result<Vec<_>>>()?;
        Ok(Rooms { free: Mutex::new(free), bytes })
    }

    /// Does some work in memory that nobody else uses meanwhile.
    pub fn with(&self, work: impl FnOnce(*mut u8) -> Result<()>) -> Result<()> {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let mut room = taken.map_or_else(|| buffer::<u8>(self.bytes), Ok)?;
        let result = work(room.as_mut_ptr());
        free().push(room);
        result
    }
}
