//! Kernels that are told to stop, because nobody waits for them any more.
//!
//! The thread that runs a queued kernel knows the kernel's [`Flag`], and so do the threads that help with its loops. Loops look at it now and
//! then; when it is set they unwind, out of the kernel and without a message. Kernels that never look run to their end.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a kernel has been told to stop.
pub(crate) type Flag = AtomicBool;

/// What a kernel that was told to stop unwinds with.
pub(crate) struct Stopped;

thread_local! {
    /// The flag of the kernel that this thread works on; null for none.
    static FLAG: Cell<*const Flag> = const { Cell::new(ptr::null()) };
}

/// Ends the kernel that the calling thread works on, if it was told to stop: by unwinding. For loops that take long and are not
/// [`parallel_for`](crate::parallel::parallel_for)'s, which looks before every range.
#[inline]
pub fn checkpoint() {
    let flag = FLAG.get();
    // SAFETY: whoever set the flag's address keeps the flag until it has set another.
    if !flag.is_null() && unsafe { &*flag }.load(Ordering::Relaxed) {
        resume_unwind(Box::new(Stopped));
    }
}

/// The flag of the kernel that this thread works on.
pub(crate) fn flag() -> *const Flag {
    FLAG.get()
}

/// Runs `f` as work on the kernel of this flag.
///
/// # Safety
/// The flag outlives the call, or is null.
pub(crate) unsafe fn with_flag<R>(flag: *const Flag, f: impl FnOnce() -> R) -> R {
    /// Restores the outer flag, also when `f` unwinds.
    struct Restore(*const Flag);
    impl Drop for Restore {
        fn drop(&mut self) {
            FLAG.set(self.0);
        }
    }
    let _restore = Restore(FLAG.replace(flag));
    f()
}
