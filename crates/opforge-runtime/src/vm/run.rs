//! Running one kernel.

use std::borrow::Borrow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opforge_core::{Error, Result};
use smallvec::SmallVec;

use super::buffer::Buffer;
use super::deps::Slot;
use super::failure::panic_error;
use crate::device::Device;
use crate::interrupt::Stopped;
use crate::kernel::{Argument, Context, Kernel};
use crate::storage::Storage;

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
pub(super) unsafe fn run<S: Borrow<Arc<Storage>>>(
    op: &str,
    stream: Slot,
    kernel: &dyn Kernel,
    inputs: &[Buffer<S>],
    outputs: &[Buffer<S>],
) -> Result<()> {
    let device = outputs.first().or(inputs.first()).map_or(Device::Cpu, |buffer| buffer.storage().device());
    let context = Context { device, stream };
    let outer = INSIDE_KERNEL.replace(true);
    let outcome = with_arguments(inputs, |inputs| {
        with_arguments(outputs, |outputs| {
            // SAFETY: the arguments are the buffers' storages and places, with which the kernel may be launched.
            catch_unwind(AssertUnwindSafe(|| unsafe { kernel.launch(&context, inputs, outputs) }))
        })
    });
    INSIDE_KERNEL.set(outer);
    outcome.unwrap_or_else(|payload| {
        Err(if payload.is::<Stopped>() { Error::Interrupted } else { panic_error(op, payload.as_ref()) })
    })
}

/// Gives `f` the buffers as arguments: for the usual one or two of them, arrays that are built in place.
#[inline]
fn with_arguments<S: Borrow<Arc<Storage>>, R>(buffers: &[Buffer<S>], f: impl FnOnce(&[Argument<'_>]) -> R) -> R {
    match buffers {
        [a] => f(&[a.as_argument()]),
        [a, b] => f(&[a.as_argument(), b.as_argument()]),
        _ => f(&buffers.iter().map(Buffer::as_argument).collect::<SmallVec<[_; 8]>>()),
    }
}
