//! Kernels that run one after the other as one, with one piece of memory for what passes between them.

use std::sync::Arc;

use opforge_core::{Error, Result};
use opforge_runtime::alloc::Workspace;
use opforge_runtime::{HostKernel, checkpoint};
use smallvec::SmallVec;

use super::Place;

/// A tensor of a call: where it lies, and its first element's distance from there in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// An input or an output of the sequence, or memory between its calls.
    pub place: Place,
    /// From the place's beginning on.
    pub byte_offset: usize,
}

/// A kernel with its tensors.
pub struct Call {
    /// The kernel.
    pub kernel: Arc<dyn HostKernel>,
    /// What it reads.
    pub inputs: SmallVec<[Tensor; 4]>,
    /// What it writes.
    pub outputs: SmallVec<[Tensor; 2]>,
}

/// Calls in order.
pub struct Sequence<F> {
    calls: Vec<Call>,
    local_bytes: usize,
    /// How many inputs and outputs there are.
    tensors: (usize, usize),
    cost: u64,
    blame: F,
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> Sequence<F> {
    /// The kernel that runs calls with so much memory between them, over so many inputs and outputs. `blame` tells a call's error from its number and
    /// its kernel's error.
    ///
    /// # Errors
    /// Places that are none.
    pub fn new(calls: Vec<Call>, local_bytes: usize, tensors: (usize, usize), blame: F) -> Result<Self> {
        let is_place = |tensor: &Tensor| match tensor.place {
            Place::Input(i) => i < tensors.0,
            Place::Output(i) => i < tensors.1,
            Place::Local(offset) => offset <= local_bytes,
        };
        if !calls.iter().flat_map(|call| call.inputs.iter().chain(&call.outputs)).all(is_place) {
            return Err(Error::value("sequence", "place", "another", "an input, an output, or memory of the sequence"));
        }
        let cost = calls.iter().map(|call| call.kernel.cost()).fold(0, u64::saturating_add);
        Ok(Sequence { calls, local_bytes, tensors, cost, blame })
    }
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> HostKernel for Sequence<F> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        if (inputs.len(), outputs.len()) != self.tensors {
            let given = format!("{} and {}", inputs.len(), outputs.len());
            return Err(Error::value("sequence", "tensors", given, format!("{:?}", self.tensors)));
        }
        let room = (self.local_bytes > 0).then(|| Workspace::new(self.local_bytes)).transpose()?;
        let local = room.as_ref().map_or(std::ptr::null_mut(), Workspace::as_ptr);
        let address = |tensor: &Tensor| {
            let base = match tensor.place {
                Place::Input(i) => inputs[i].cast_mut(),
                Place::Output(i) => outputs[i],
                Place::Local(offset) => local.wrapping_add(offset),
            };
            base.wrapping_add(tensor.byte_offset)
        };
        for (number, call) in self.calls.iter().enumerate() {
            let from: SmallVec<[*const u8; 6]> = call.inputs.iter().map(|x| address(x).cast_const()).collect();
            let to: SmallVec<[*mut u8; 4]> = call.outputs.iter().map(address).collect();
            checkpoint();
            // SAFETY: the call's tensors lie where its kernel was prepared for: in the sequence's own, which the caller vouches for, or in memory of
            // its own, where earlier calls have written what this one reads.
            unsafe { call.kernel.run(&from, &to) }.map_err(|error| (self.blame)(number, error))?;
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
