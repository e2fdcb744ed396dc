//! Running one kernel.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use opforge_core::{Error, Result};
use smallvec::SmallVec;

use super::buffer::Buffer;
use super::deps::Slot;
use super::failure::panic_error;
use crate::device::Device;
use crate::interrupt::Stopped;
use crate::kernel::{Argument, Context, Kernel};

thread_local! {
    static INSIDE_KERNEL: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is running a kernel for the VM.
#[cfg(unix)]
pub(super) fn is_inside_kernel() -> bool {
    INSIDE_KERNEL.get()
}

/// Runs a kernel on a stream; its panic becomes an error.
///
/// # Safety
/// As for [`Kernel::launch`], with these buffers.
#[inline]
pub(super) unsafe fn run(
    op: &str,
    stream: Slot,
    kernel: &dyn Kernel,
    inputs: &[Argument<'_>],
    outputs: &[Argument<'_>],
) -> Result<()> {
    let device = outputs.first().or(inputs.first()).map_or(Device::Cpu, |argument| argument.storage.device());
    let context = Context { device, stream };
    let outer = INSIDE_KERNEL.replace(true);
    // SAFETY: the kernel may be launched with these arguments, as this function demands.
    let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { kernel.launch(&context, inputs, outputs) }));
    INSIDE_KERNEL.set(outer);
    outcome.unwrap_or_else(|payload| Err(unwound(op, payload)))
}

#[cold]
fn unwound(op: &str, payload: Box<dyn Any + Send>) -> Error {
    if payload.is::<Stopped>() { Error::Interrupted } else { panic_error(op, payload.as_ref()) }
}

/// As [`run`], with buffers that a queue held.
///
/// # Safety
/// As for [`run`].
pub(super) unsafe fn run_queued(
    op: &str,
    stream: Slot,
    kernel: &dyn Kernel,
    inputs: &[Buffer],
    outputs: &[Buffer],
) -> Result<()> {
    fn arguments(buffers: &[Buffer]) -> SmallVec<[Argument<'_>; 8]> {
        buffers.iter().map(Buffer::as_argument).collect()
    }
    // SAFETY: the arguments are the buffers' storages and places.
    unsafe { run(op, stream, kernel, &arguments(inputs), &arguments(outputs)) }
}
