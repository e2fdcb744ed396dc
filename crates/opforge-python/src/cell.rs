//! A cell whose lock is the interpreter's.

use std::cell::UnsafeCell;

use pyo3::Python;

/// A value that whoever is attached to the interpreter may replace: the interpreter's lock is its lock.
///
/// Values are cloned out, never borrowed, so nobody holds a reference into the cell while other code runs.
pub struct Cell<T>(UnsafeCell<T>);

// SAFETY: every access needs a `Python` token, and there is one thread at a time that has one (the module is built for the stable ABI of
// interpreters with a global lock). `T: Send` since the values move between those threads.
unsafe impl<T: Send> Sync for Cell<T> {}

impl<T: Clone> Cell<T> {
    pub fn new(value: T) -> Self {
        Cell(UnsafeCell::new(value))
    }

    #[inline]
    pub fn get(&self, _: Python<'_>) -> T {
        // SAFETY: the token says that no other thread is here, and `clone` of these values calls no Python code that could be.
        unsafe { (*self.0.get()).clone() }
    }

    pub fn set(&self, _: Python<'_>, value: T) {
        // SAFETY: the token says that no other thread is here. The old value is dropped after the new one is in place, since dropping may run other code.
        let old = unsafe { std::mem::replace(&mut *self.0.get(), value) };
        drop(old);
    }
}
