//! A recorder of one call's way through the layers, for teaching and for finding lost nanoseconds.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a layer decided, and when it was done, in nanoseconds since the recording began.
#[derive(Debug, Clone)]
pub struct Step {
    /// The layer's name.
    pub layer: &'static str,
    /// Its decision.
    pub decision: String,
    /// When it handed on, in nanoseconds since the start.
    pub at_ns: u64,
}

static ACTIVE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static STEPS: RefCell<Option<(Instant, Vec<Step>)>> = const { RefCell::new(None) };
}

/// Records the steps that the calls in `f` take on this thread.
pub fn record<T>(f: impl FnOnce() -> T) -> (T, Vec<Step>) {
    ACTIVE.store(true, Ordering::Relaxed);
    STEPS.set(Some((Instant::now(), Vec::with_capacity(32))));
    let value = f();
    ACTIVE.store(false, Ordering::Relaxed);
    let steps = STEPS.take().map(|(_, steps)| steps).unwrap_or_default();
    (value, steps)
}

/// Notes a layer's decision; costs one load when nothing is recorded.
#[inline]
pub fn step(layer: &'static str, decision: impl FnOnce() -> String) {
    if ACTIVE.load(Ordering::Relaxed) {
        push(layer, decision);
    }
}

#[cold]
fn push(layer: &'static str, decision: impl FnOnce() -> String) {
    STEPS.with_borrow_mut(|steps| {
        if let Some((start, steps)) = steps {
            let at_ns = start.elapsed().as_nanos() as u64;
            steps.push(Step { layer, decision: decision(), at_ns });
        }
    });
}
