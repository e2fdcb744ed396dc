//! Parallel loops whose body may fail.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use opforge_core::Result;
use opforge_runtime::parallel::{Body, parallel_for};

/// As [`parallel_for`], with a body that may fail: the error is the first that was seen, and ranges not yet begun are skipped.
#[inline]
pub(crate) fn try_parallel_for(n: usize, grain: usize, body: impl Fn(Range<usize>) -> Result<()> + Sync) -> Result<()> {
    run(n, grain, &body)
}

/// [`try_parallel_for`], compiled once.
fn run(n: usize, grain: usize, body: &dyn Body<Result<()>>) -> Result<()> {
    let (failed, failure) = (AtomicBool::new(false), Mutex::new(None));
    parallel_for(n, grain, |range| {
        if failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = body.run(range) {
            failed.store(true, Ordering::Relaxed);
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
