//! Waiting awake: to sleep and to be woken takes tens of microseconds, longer than most of what is waited for.

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
