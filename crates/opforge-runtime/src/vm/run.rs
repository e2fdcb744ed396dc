//! Running one kernel.

use std::borrow::Borrow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opforge_core::{Error, Result};
use smallvec::SmallVec;

use super::buffer::Buffer;
use super::failure::panic_error;
use crate::interrupt::Stopped;
use crate::kernel::Kernel;
use crate::storage::Storage;

thread_local! {
    static INSIDE_KERNEL: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is running a kernel for the VM.
#[cfg(unix)]
pub(super) fn is_inside_kernel() -> bool {
    INSIDE_KERNEL.get()
}

/// Reserves what memory is missing and runs a kernel; its panic becomes an error.
///
/// # Safety
/// As for [`Kernel::run`], with these buffers' addresses.
#[inline]
pub(super) unsafe fn run<S: Borrow<Arc<Storage>>>(
    op: &str,
    kernel: &dyn Kernel,
    inputs: &[Buffer<S>],
    outputs: &[Buffer<S>],
) -> Result<()> {
    let mut input_data = SmallVec::<[*const u8; 8]>::new();
    for input in inputs {
        let data = input.storage().data()?.as_ptr();
        input_data.push(data.wrapping_add(input.byte_offset).cast_const());
    }
    let mut output_data = SmallVec::<[*mut u8; 4]>::new();
    for output in outputs {
        let data = output.storage().data_for_output()?.as_ptr();
        output_data.push(data.wrapping_add(output.byte_offset));
    }
    let outer = INSIDE_KERNEL.replace(true);
    // SAFETY: the caller's promise.
    let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { kernel.run(&input_data, &output_data) }));
    INSIDE_KERNEL.set(outer);
    outcome.unwrap_or_else(|payload| {
        Err(if payload.is::<Stopped>() { Error::Interrupted } else { panic_error(op, payload.as_ref()) })
    })
}
