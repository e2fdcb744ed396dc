//! The synchronisation primitives of the VM: std's, or loom's when its models are checked (`--cfg loom`).

use std::sync::PoisonError;
use std::time::Duration;

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::{Condvar, Mutex, MutexGuard},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks; what is protected here stays consistent when a thread panics, so the mark that one did is ignored.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on a condition, at most so long; may wake up without reason. In models time does not pass.
pub(crate) fn wait<'a, T>(
    condition: &Condvar,
    guard: MutexGuard<'a, T>,
    at_most: Option<Duration>,
) -> MutexGuard<'a, T> {
    match at_most {
        Some(at_most) if !cfg!(loom) => {
            condition.wait_timeout(guard, at_most).unwrap_or_else(PoisonError::into_inner).0
        }
        _ => condition.wait(guard).unwrap_or_else(PoisonError::into_inner),
    }
}

/// std's cell with the interface of loom's.
#[cfg(not(loom))]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
