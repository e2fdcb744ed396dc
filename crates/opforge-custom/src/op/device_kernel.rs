//! Custom operators on a device's queue: their functions are given addresses of the device's memory, and issue to its queue.

use std::sync::{Mutex, PoisonError};

use opforge::Result;
use opforge_runtime::{Argument, Context, Kernel, Storage, vm};

use super::kernel::Changed;
use crate::library::Place;
use crate::runner::{Prepared, Queue};

/// A prepared operator as the VM sees it.
pub(super) struct DeviceKernel {
    /// Kernels are promised that nobody else uses their `extra` meanwhile.
    pub prepared: Mutex<Box<dyn Prepared>>,
    pub place: Place,
    /// How many outputs the library knows; further ones are inputs that it changes.
    pub outputs: usize,
    pub changed: Vec<Changed>,
}

/// What a call takes until it is issued, in nanoseconds: more than what runs under the VM's lock.
const DURATION: u64 = 10_000;

impl Kernel for DeviceKernel {
    unsafe fn launch(&self, context: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        if !context.device.is_cuda() {
            return Err(self.place.fault("is made for NVIDIA GPUs, and tensors on the CPU were given"));
        }
        let sources = inputs.iter().map(Argument::to_read).collect::<Result<Vec<_>>>()?;
        let targets = outputs.iter().map(Argument::to_write).collect::<Result<Vec<_>>>()?;
        if self.changed.iter().any(|changed| !std::ptr::eq(targets[changed.output], sources[changed.input])) {
            return Err(self.place.fault("changes an input whose result lies elsewhere"));
        }
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let workspace = Storage::new(context.device, prepared.workspace())?;
        let memory = context.device.memory()?;
        let queue = Queue {
            workspace: if workspace.nbytes() > 0 {
                workspace.data_for_output()?.as_ptr()
            } else {
                std::ptr::null_mut()
            },
            stream: memory.queue(&self.place.op)?,
        };
        // SAFETY: addresses are those of contiguous tensors for which the operator was prepared, on the queue's device. What the function issues uses the
        // workspace before what is issued later uses the same memory.
        unsafe { prepared.run_on(&queue, &sources, &targets[..self.outputs])? };
        if vm::is_sync() { memory.wait() } else { Ok(()) }
    }

    fn duration(&self) -> u64 {
        DURATION
    }
}
