//! Parallel loops: every range once, nested loops, panics, many callers.

use super::*;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;

/// The ranges that a loop calls, in order of their starts.
fn ranges(n: usize, grain: usize) -> Vec<Range<usize>> {
    let seen = Mutex::new(Vec::new());
    parallel_for(n, grain, |r| seen.lock().unwrap().push(r));
    let mut seen = seen.into_inner().unwrap();
    seen.sort_by_key(|r| r.start);
    seen
}

#[test]
fn ranges_tile_the_whole() {
    for (n, grain) in [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 7), (3, 0), (10, usize::MAX)] {
        let seen = ranges(n, grain);
        let grain = grain.max(1);
        assert_eq!(seen.len(), n.div_ceil(grain), "n {n}, grain {grain}");
        for (i, r) in seen.iter().enumerate() {
            assert_eq!(*r, i * grain..n.min((i + 1).saturating_mul(grain)), "n {n}, grain {grain}");
        }
    }
}

#[test]
fn one_range_runs_on_the_caller() {
    let caller = thread::current().id();
    parallel_for(8, 8, |_| assert_eq!(thread::current().id(), caller));
}

#[test]
fn helpers_take_part() {
    if num_threads() == 1 {
        return;
    }
    // Every range waits until two threads are inside: without a helper this would never end.
    let inside = AtomicUsize::new(0);
    parallel_for(2, 1, |_| {
        inside.fetch_add(1, Ordering::SeqCst);
        while inside.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
    });
}

#[test]
fn nested_loops_stay_on_their_thread() {
    parallel_for(8, 1, |_| {
        let outer = thread::current().id();
        parallel_for(8, 1, |_| assert_eq!(thread::current().id(), outer));
    });
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_survives() {
    for bad in 0..64 {
        let outcome = catch_unwind(|| {
            parallel_for(64, 1, |r| {
                if r.start == bad {
                    panic!("range {bad}");
                }
            })
        });
        let message = outcome.unwrap_err();
        assert_eq!(message.downcast_ref::<String>().unwrap(), &format!("range {bad}"));
        assert_eq!(ranges(64, 1).len(), 64);
    }
}

#[test]
fn many_callers_at_once() {
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let sum = AtomicUsize::new(0);
                    parallel_for(1000, 10, |r| {
                        sum.fetch_add(r.sum(), Ordering::Relaxed);
                    });
                    assert_eq!(sum.into_inner(), 1000 * 999 / 2);
                }
            });
        }
        thread::sleep(std::time::Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn sleeping_helpers_wake_up() {
    for pause in [0, 20, 200, 2000] {
        for _ in 0..20 {
            assert_eq!(ranges(100, 1).len(), 100);
            thread::sleep(std::time::Duration::from_micros(pause));
        }
    }
}
