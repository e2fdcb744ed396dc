//! Data-parallel loops over the machine's cores.

pub(crate) mod pool;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::interrupt::checkpoint;

/// The number of threads to use; 0 until it is first asked for or set.
static NUM_THREADS: AtomicUsize = AtomicUsize::new(0);

/// The most threads that work on one loop, its caller included.
///
/// At first the number in the environment variable `OPFORGE_NUM_THREADS`, else the cores that this process may use.
#[inline]
pub fn num_threads() -> usize {
    match NUM_THREADS.load(Ordering::Relaxed) {
        0 => {
            let threads = default_num_threads();
            match NUM_THREADS.compare_exchange(0, threads, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => threads,
                Err(already_set) => already_set,
            }
        }
        threads => threads,
    }
}

/// Sets the most threads that work on one loop, its caller included, from the next loop on. 0 counts as 1.
pub fn set_num_threads(threads: usize) {
    NUM_THREADS.store(threads.max(1), Ordering::Relaxed);
}

fn default_num_threads() -> usize {
    let wanted = std::env::var("OPFORGE_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    wanted.filter(|&threads| threads > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
}

/// Calls `body` on disjoint ranges that together are `0..n`, several at once; returns when all are done.
///
/// Ranges start at multiples of `grain` and hold at most `grain` elements, so what a call computes per range does not depend on the number
/// of threads. A loop inside of a loop runs on the thread it is on. Several threads may run loops at once; they share the helpers.
///
/// A kernel that is told to stop ends before one of the next ranges: see [`checkpoint`].
///
/// # Panics
/// When `body` panics, the ranges not yet begun are skipped and the (first) panic continues in the caller.
#[inline]
pub fn parallel_for(n: usize, grain: usize, body: impl Fn(Range<usize>) + Sync) {
    run(n, grain.max(1), &body);
}

/// The body of a loop. A trait of its own: there are very many, and with `dyn Fn` each would have the code of `FnOnce` too.
pub trait Body<R>: Sync {
    /// Works on a range.
    fn run(&self, range: Range<usize>) -> R;
}

impl<R, F: Fn(Range<usize>) -> R + Sync> Body<R> for F {
    fn run(&self, range: Range<usize>) -> R {
        self(range)
    }
}

/// [`parallel_for`], compiled once.
fn run(n: usize, grain: usize, body: &dyn Body<()>) {
    if n <= grain {
        if n > 0 {
            body.run(0..n);
        }
    } else if num_threads() == 1 || pool::inside_loop() {
        for i in 0..n.div_ceil(grain) {
            checkpoint();
            body.run(range(i, grain, n));
        }
    } else {
        pool::run(n, grain, num_threads() - 1, body);
    }
}

/// The `i`-th of the ranges that split `0..n`.
fn range(i: usize, grain: usize, n: usize) -> Range<usize> {
    let start = i * grain;
    start..n.min(start.saturating_add(grain))
}

#[cfg(test)]
mod tests;
