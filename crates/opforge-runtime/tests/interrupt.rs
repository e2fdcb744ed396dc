//! A front end that gives up waiting: what it waited for is interrupted, and nothing else is lost.
#![cfg(not(loom))]

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::*;
use opforge_core::{Error, ErrorKind};
use opforge_runtime::vm::{self, FrontEnd, Stream, with_stream};
use opforge_runtime::{Kernel, checkpoint, parallel};

/// A cost that waiting threads leave to the stream's thread.
const LONG: u64 = u64::MAX;

thread_local! {
    /// How many kernels this thread has let others run beside.
    static APART: Cell<usize> = const { Cell::new(0) };
    /// How many steps of waiting this thread takes before it gives up.
    static PATIENCE: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn front_end() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        vm::set_front_end(FrontEnd {
            wait: |step| {
                while !step(Duration::from_millis(10)) {
                    match PATIENCE.get() {
                        usize::MAX => {}
                        0 => return Err(Error::msg("enough")),
                        left => PATIENCE.set(left - 1),
                    }
                }
                Ok(())
            },
            apart: |f| {
                APART.set(APART.get() + 1);
                f();
            },
            caller: || None,
        });
    });
}

/// Runs `f` on a thread that waits for a fifth of a second at most.
fn impatiently<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    front_end();
    let start = Instant::now();
    let run = || {
        PATIENCE.set(20);
        let result = f();
        PATIENCE.set(usize::MAX);
        result
    };
    let result = thread::scope(|s| s.spawn(run).join().unwrap());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    result
}

/// A kernel that never ends of its own accord, and counts the ranges that it began.
fn endless(ranges: &Arc<AtomicUsize>) -> Arc<dyn Kernel> {
    let ranges = ranges.clone();
    kernel(LONG, move |_, _| {
        parallel::parallel_for(usize::MAX, 1, |_| {
            ranges.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_micros(50));
        });
        Ok(())
    })
}

fn stands_still(count: &AtomicUsize) -> bool {
    wait_until(|| {
        let before = count.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        before == count.load(Ordering::Relaxed)
    });
    true
}

#[test]
fn who_gives_up_stops_the_loop_and_readers_get_an_error() {
    let ranges = Arc::new(AtomicUsize::new(0));
    let (out, behind) = (storage(), storage());
    impatiently(|| {
        submit("endless", &endless(&ranges), &[], &out).unwrap();
        submit("behind", &sum(CHEAP, 1), &[&out], &behind).unwrap();
        assert_eq!(vm::read(&out).unwrap_err().to_string(), "enough");
        for storage in [&out, &behind] {
            let error = vm::read(storage).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        }
        assert!(stands_still(&ranges));
        // The next calls are as good as any.
        let next = storage();
        submit("next", &sum(QUEUED, 5), &[], &next).unwrap();
        assert_eq!(value(&next).unwrap(), 5);
        // Whether the kernel has ended by now or not.
        assert!(submit("reads it", &sum(QUEUED, 5), &[&out], &next).and_then(|()| value(&next)).is_err());
        vm::synchronize().unwrap();
    });
}

#[test]
fn longer_kernels_on_the_calling_thread_let_others_run() {
    front_end();
    for (cost, apart) in [(CHEAP, 0), (1_000_000, 1)] {
        let (before, out) = (APART.get(), storage());
        let caller = thread::current().id();
        let here = kernel(cost, move |_, out| {
            *out = u64::from(thread::current().id() == caller);
            Ok(())
        });
        submit("here", &here, &[], &out).unwrap();
        assert_eq!((APART.get() - before, value(&out).unwrap()), (apart, 1), "a kernel of {cost} ns");
        let fails = submit("fails", &kernel(cost, |_, _| Err(Error::msg("at once"))), &[], &storage());
        assert_eq!(fails.unwrap_err().to_string(), "at once");
    }
}

#[test]
fn a_long_loop_of_a_kernels_own_looks_too() {
    let rounds = Arc::new(AtomicUsize::new(0));
    let counted = rounds.clone();
    let own = kernel(LONG, move |_, _| {
        loop {
            checkpoint();
            counted.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_micros(50));
        }
    });
    let out = storage();
    impatiently(|| {
        submit("own loop", &own, &[], &out).unwrap();
        assert!(vm::read(&out).is_err());
        assert!(stands_still(&rounds));
    });
}

#[test]
fn a_kernel_that_does_not_stop_is_in_nobodys_way() {
    let (gate, out, input) = (Gate::default(), storage(), storage_of(3));
    let held = gate.clone();
    let written = Arc::new(AtomicU64::new(0));
    let seen = written.clone();
    let deaf = kernel(LONG, move |inputs, out| {
        held.pass();
        seen.store(inputs[0], Ordering::SeqCst);
        *out = 7;
        Ok(())
    });
    impatiently(|| {
        submit("deaf", &deaf, &[&input], &out).unwrap();
        assert!(vm::read(&out).is_err());
        PATIENCE.set(usize::MAX);
        assert_eq!(vm::read(&out).unwrap_err().kind(), ErrorKind::Interrupted);
        let next = storage();
        submit("next", &sum(QUEUED, 5), &[&input], &next).unwrap();
        assert_eq!(value(&next).unwrap(), 8);
        vm::synchronize().unwrap();
        // What it reads is not changed under it, nor what it writes.
        submit("in place", &sum(QUEUED, 1), &[&input], &input).unwrap();
        submit_to("fill", &sum(QUEUED, 4), &[], (&out, vm::Content::Replaced)).unwrap();
        thread::sleep(Duration::from_millis(20));
        gate.open();
        assert_eq!((value(&input).unwrap(), value(&out).unwrap()), (4, 4));
        assert_eq!(written.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn what_had_content_is_finished_unless_the_user_insists() {
    let (gate, content, fresh) = (Gate::default(), storage_of(3), storage());
    impatiently(|| {
        let slow = {
            let gate = gate.clone();
            kernel(LONG, move |_, out| {
                while !gate.is_open() {
                    checkpoint();
                    thread::sleep(Duration::from_micros(50));
                }
                *out = 1;
                Ok(())
            })
        };
        submit("slow", &slow, &[], &fresh).unwrap();
        submit("step", &sum(QUEUED, 0), &[&content, &fresh], &content).unwrap();
        assert_eq!(vm::read(&content).unwrap_err().to_string(), "enough");
        PATIENCE.set(usize::MAX);
        gate.open();
        assert_eq!(value(&content).unwrap(), 4);
        gate.close();

        let fresh = storage();
        submit("slow", &slow, &[], &fresh).unwrap();
        submit("step", &sum(QUEUED, 0), &[&content, &fresh], &content).unwrap();
        for _ in 0..2 {
            PATIENCE.set(5);
            assert_eq!(vm::read(&content).unwrap_err().to_string(), "enough");
        }
        PATIENCE.set(usize::MAX);
        assert_eq!(vm::read(&content).unwrap_err().kind(), ErrorKind::Interrupted);
    });
}

#[test]
fn an_interrupt_of_one_thread_leaves_the_others_alone() {
    let (ranges, out) = (Arc::new(AtomicUsize::new(0)), storage());
    let (gate, other) = (Gate::default(), storage());
    let stream = Stream::new();
    // Begun in its turn: other tests wait for all streams.
    impatiently(|| {
        with_stream(&stream, || submit("other", &gate.sum(2), &[], &other)).unwrap();
        submit("endless", &endless(&ranges), &[], &out).unwrap();
        assert!(vm::read(&out).is_err());
        gate.open();
    });
    assert_eq!(value(&other).unwrap(), 2);
}

#[test]
fn in_synchronous_mode_long_kernels_are_interrupted_too() {
    let (ranges, out) = (Arc::new(AtomicUsize::new(0)), storage());
    impatiently(|| {
        vm::set_sync(true);
        let outcome = submit("endless", &endless(&ranges), &[], &out);
        PATIENCE.set(usize::MAX);
        let failing = submit("fails", &kernel(LONG, |_, _| Err(Error::msg("at once"))), &[], &storage());
        vm::set_sync(false);
        assert_eq!(outcome.unwrap_err().to_string(), "enough");
        assert_eq!(failing.unwrap_err().to_string(), "at once");
        assert!(stands_still(&ranges));
    });
}

#[test]
fn what_a_failed_call_left_in_the_queue_is_not_run() {
    let (gate, runs) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
    let counting = {
        let runs = runs.clone();
        kernel(QUEUED, move |_, out| {
            runs.fetch_add(1, Ordering::Relaxed);
            *out = 7;
            Ok(())
        })
    };
    let (first, kept, changed) = (storage(), storage(), storage_of(1));
    let (dropped, read) = (storage(), storage());
    impatiently(|| {
        PATIENCE.set(usize::MAX);
        submit("held back", &gate.sum(2), &[], &first).unwrap();
        submit("kept", &counting, &[&first], &kept).unwrap();
        submit_to("in place", &counting, &[], (&changed, vm::Content::Changed)).unwrap();
        submit("read by others", &counting, &[], &dropped).unwrap();
        submit("reader", &sum(QUEUED, 0), &[&dropped], &read).unwrap();
        drop(dropped);
        for _ in 0..2 {
            let unwanted = storage();
            submit("unwanted", &counting, &[&kept], &unwanted).unwrap();
            submit("unwanted reader", &counting, &[&unwanted], &storage()).unwrap();
        }
        vm::abandon_unwanted();
        gate.open();
        vm::synchronize().unwrap();
        assert_eq!([&first, &kept, &changed, &read].map(|s| value(s).unwrap()), [2, 7, 7, 7]);
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn what_a_failed_call_left_running_is_in_nobodys_way() {
    let (gate, next) = (Gate::default(), storage());
    let held = gate.clone();
    let deaf = kernel(LONG, move |_, _| {
        held.pass();
        Ok(())
    });
    impatiently(|| {
        PATIENCE.set(usize::MAX);
        submit("deaf", &deaf, &[], &storage()).unwrap();
        submit("queued behind", &sum(QUEUED, 1), &[], &storage()).unwrap();
        thread::sleep(Duration::from_millis(20));
        vm::abandon_unwanted();
        vm::synchronize().unwrap();
        submit("next", &sum(QUEUED, 5), &[], &next).unwrap();
        assert_eq!(value(&next).unwrap(), 5);
        gate.open();
        vm::synchronize().unwrap();
    });
}

#[test]
fn what_a_failed_call_left_running_stops_without_a_word() {
    let (ranges, kept) = (Arc::new(AtomicUsize::new(0)), storage());
    let began = || wait_until(|| ranges.load(Ordering::Relaxed) > 0);
    impatiently(|| {
        PATIENCE.set(usize::MAX);
        submit("endless", &endless(&ranges), &[], &storage()).unwrap();
        began();
        vm::abandon_unwanted();
        vm::synchronize().unwrap();
        assert!(stands_still(&ranges));
        submit("next", &sum(QUEUED, 5), &[], &kept).unwrap();
        assert_eq!(value(&kept).unwrap(), 5);
    });
}

/// There is nothing to wait for, and the front end is asked all the same.
#[test]
fn who_works_on_the_host_may_give_up() {
    let outcome = impatiently(|| (0..100).try_for_each(|_| vm::look_up()));
    assert!(outcome.unwrap_err().to_string().contains("enough"));
}
