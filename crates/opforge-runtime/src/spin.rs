//! Waiting awake: to sleep and to be woken takes tens of microseconds, longer than most of what is waited for, and longer than most kernels take.
//!
//! Hence short kernels run on the thread that calls (`vm/submit.rs`), whoever waits is awake at first (`vm/machine.rs`), and helper threads that have
//! worked look out for the next loop for a while (`parallel/pool.rs`). Nobody spins where nothing runs.

use std::time::{Duration, Instant};

/// After so long, between two looks, whatever else wants to run gets the processor: threads of another library's pool, for one.
const ALONE: Duration = Duration::from_micros(20);

/// Spins until `ready`, or for so long; says whether it got ready.
pub(crate) fn spin_until(at_most: Duration, ready: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        match start.elapsed() {
            spun if spun >= at_most => return ready(),
            spun if spun >= ALONE => std::thread::yield_now(),
            _ => {}
        }
    }
}
