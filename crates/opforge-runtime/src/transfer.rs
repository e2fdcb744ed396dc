//! Copies between devices.

use opforge_core::Result;

use crate::alloc::Workspace;
use crate::device::Device;
use crate::kernel::{Argument, Context, Kernel};

/// The kernel that copies contiguous bytes from the input's device to the output's.
pub struct Transfer {
    /// How many.
    pub nbytes: usize,
}

impl Kernel for Transfer {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let (from, to) = (inputs[0], outputs[0]);
        let (source, target) = (from.to_read()?, to.to_write()?);
        let (on, other) = (from.storage.device(), to.storage.device());
        // SAFETY: both places hold `nbytes` of their devices' memory, the host's as slices; a workspace is initialised.
        unsafe {
            match (on, other) {
                (Device::Cpu, _) => other.memory()?.upload(std::slice::from_raw_parts(source, self.nbytes), target),
                (_, Device::Cpu) => on.memory()?.download(source, std::slice::from_raw_parts_mut(target, self.nbytes)),
                _ => {
                    let space = Workspace::new(self.nbytes)?;
                    let between = std::slice::from_raw_parts_mut(space.as_ptr(), self.nbytes);
                    on.memory()?.download(source, between)?;
                    other.memory()?.upload(between, target)
                }
            }
        }
    }

    fn duration(&self) -> u64 {
        // Some 10 bytes a nanosecond, after the way to the device.
        1_000 + self.nbytes as u64 / 10
    }
}
