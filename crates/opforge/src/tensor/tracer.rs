//! Whoever writes a thread's calls down, to be carried out later, and what it must know of besides calls: what a function reads of the world as it is now
//! would be missing in what is written.

use std::cell::Cell;

use opforge_runtime::Generator;

use super::Tensor;
use crate::Result;

/// Is told, before it happens, of what a function does besides calls.
pub trait Tracer: Sync {
    /// The host reads elements of a tensor; with `exposes` it gets at the memory itself, now and later.
    ///
    /// # Errors
    /// Where they must not be read.
    fn reads(&self, tensor: &Tensor, exposes: bool) -> Result<()>;

    /// The gradient that a tensor keeps, or that it keeps none, is read, replaced or added to. A tracer may give it another one before, untraced.
    fn takes_grad(&self, tensor: &Tensor);

    /// A key of random numbers was drawn.
    fn draws(&self, generator: &Generator, key: &Tensor);
}

thread_local!(static TRACER: Cell<Option<&'static dyn Tracer>> = const { Cell::new(None) });

/// Runs `f`, of which the tracer is told.
pub fn traced_by<R>(tracer: &'static dyn Tracer, f: impl FnOnce() -> R) -> R {
    with(Some(tracer), f)
}

/// Runs `f`, of which no tracer is told.
pub fn untraced<R>(f: impl FnOnce() -> R) -> R {
    with(None, f)
}

fn with<R>(tracer: Option<&'static dyn Tracer>, f: impl FnOnce() -> R) -> R {
    /// Restores the outer tracer, also when `f` unwinds.
    struct Restore(Option<&'static dyn Tracer>);
    impl Drop for Restore {
        fn drop(&mut self) {
            TRACER.set(self.0);
        }
    }
    let _restore = Restore(TRACER.replace(tracer));
    f()
}

/// Whether this thread's calls are written down instead of being carried out.
pub fn is_traced() -> bool {
    TRACER.get().is_some()
}

#[inline]
pub(crate) fn reads(tensor: &Tensor, exposes: bool) -> Result<()> {
    TRACER.get().map_or(Ok(()), |tracer| tracer.reads(tensor, exposes))
}

#[inline]
pub(crate) fn takes_grad(tensor: &Tensor) {
    if let Some(tracer) = TRACER.get() {
        tracer.takes_grad(tensor);
    }
}

pub(crate) fn draws(generator: &Generator, key: &Tensor) {
    if let Some(tracer) = TRACER.get() {
        tracer.draws(generator, key);
    }
}
