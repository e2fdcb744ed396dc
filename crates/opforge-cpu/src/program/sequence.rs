//! Kernels that run one after the other as one, with one piece of memory for what passes between them.

use std::sync::Arc;
use std::time::Instant;

use opforge_core::{Error, Result};
use opforge_runtime::alloc::{ALIGNMENT, Workspace};
use opforge_runtime::{HostKernel, checkpoint};
use smallvec::SmallVec;

pub use opforge_runtime::sequence::{Call, Place, Stopwatch, Tensor, check};

/// Calls in order.
pub struct Sequence<F> {
    calls: Vec<Call<dyn HostKernel>>,
    local_bytes: usize,
    /// How many inputs and outputs there are.
    tensors: (usize, usize),
    cost: u64,
    watch: Arc<Stopwatch>,
    blame: F,
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> Sequence<F> {
    /// The kernel that runs calls with so much memory between them, over so many inputs and outputs. `blame` tells a call's error from its number and
    /// its kernel's error.
    ///
    /// # Errors
    /// Places that are none, and a watch for fewer calls.
    pub fn new(
        calls: Vec<Call<dyn HostKernel>>,
        local_bytes: usize,
        tensors: (usize, usize),
        watch: Arc<Stopwatch>,
        blame: F,
    ) -> Result<Self> {
        check(&calls, local_bytes, tensors, &watch)?;
        let cost = calls.iter().map(|call| call.kernel.cost()).fold(0, u64::saturating_add);
        Ok(Sequence { calls, local_bytes, tensors, cost, watch, blame })
    }
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> HostKernel for Sequence<F> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        if (inputs.len(), outputs.len()) != self.tensors {
            let given = format!("{} and {}", inputs.len(), outputs.len());
            return Err(Error::value("sequence", "tensors", given, format!("{:?}", self.tensors)));
        }
        let room = (self.local_bytes > 0).then(|| Workspace::new(self.local_bytes)).transpose()?;
        // Tensors without elements may be all that is there: they lie where any tensor could.
        let local = room.as_ref().map_or(std::ptr::without_provenance_mut(ALIGNMENT), Workspace::as_ptr);
        let address = |tensor: &Tensor| {
            let base = match tensor.place {
                Place::Input(i) => inputs[i].cast_mut(),
                Place::Output(i) => outputs[i],
                Place::Local(offset) => local.wrapping_add(offset),
            };
            base.wrapping_add(tensor.byte_offset)
        };
        let watched = self.watch.is_on();
        for (number, call) in self.calls.iter().enumerate() {
            let from: SmallVec<[*const u8; 6]> = call.inputs.iter().map(|x| address(x).cast_const()).collect();
            let to: SmallVec<[*mut u8; 4]> = call.outputs.iter().map(address).collect();
            checkpoint();
            let begun = watched.then(Instant::now);
            // SAFETY: the call's tensors lie where its kernel was prepared for: in the sequence's own, which the caller vouches for, or in memory of
            // its own, where earlier calls have written what this one reads.
            unsafe { call.kernel.run(&from, &to) }.map_err(|error| (self.blame)(number, error))?;
            self.watch.note(number, begun);
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
