//! What concerns the whole process: the environment, synchronous mode, the number of threads, the limits of running ahead, traces, forks. These tests take turns.
#![cfg(not(loom))]

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use common::*;
use opforge_core::Error;
use opforge_runtime::vm::trace::{Communication, Kind};
use opforge_runtime::vm::{self, RunAhead, Stream, trace, with_stream};
use opforge_runtime::{Device, Storage, parallel};

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn in_synchronous_mode_calls_return_when_their_kernels_have_run() {
    let _turn = turn();
    let (stream, gate) = (Stream::new(), Gate::default());
    let (a, b, c) = (storage(), storage(), storage());
    let fail = kernel(QUEUED, |_, _| Err(Error::msg("at once")));
    with_stream(&stream, || submit("queued before", &gate.sum(1), &[], &a)).unwrap();
    vm::set_sync(true);
    assert!(vm::is_sync());
    thread::scope(|s| {
        s.spawn(|| gate.open());
        with_stream(&stream, || submit("behind it", &sum(QUEUED, 1), &[&a], &b)).unwrap();
        assert!(b.is_reserved());
    });
    assert!(with_stream(&stream, || submit("fails", &fail, &[], &c)).is_err());
    vm::set_sync(false);
    assert_eq!(value(&b).unwrap(), 2);
}

#[test]
fn synchronous_mode_reports_failures_of_what_it_waited_for() {
    let _turn = turn();
    let (first, second, gate) = (Stream::new(), Stream::new(), Gate::default());
    let (a, b) = (storage(), storage());
    with_stream(&first, || submit("slow", &gate.sum(1), &[], &a)).unwrap();
    vm::set_sync(true);
    let fail = kernel(QUEUED, |_, _| Err(Error::msg("behind")));
    thread::scope(|s| {
        s.spawn(|| gate.open());
        assert!(with_stream(&second, || submit("fails", &fail, &[&a], &b)).is_err());
    });
    vm::set_sync(false);
}

/// Runs in processes of their own, whose environment is set.
#[test]
#[ignore = "run by the_environment_is_followed"]
fn inside_an_environment() {
    let set = |name| std::env::var(name).unwrap();
    assert_eq!(parallel::num_threads().to_string(), set("OPFORGE_NUM_THREADS"));
    assert_eq!(vm::is_sync(), set("OPFORGE_SYNC") == "1");
}

#[test]
fn the_environment_is_followed() {
    for (threads, sync) in [("1", "0"), ("7", "1")] {
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "inside_an_environment", "--ignored"]);
        let output = test.env("OPFORGE_NUM_THREADS", threads).env("OPFORGE_SYNC", sync).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}

#[test]
fn loops_use_as_many_threads_as_they_may() {
    let _turn = turn();
    let before = parallel::num_threads();
    for threads in [1, 4, 2, before] {
        parallel::set_num_threads(threads);
        assert_eq!(parallel::num_threads(), threads);
        let (seen, inside) = (Mutex::new(HashSet::new()), AtomicUsize::new(0));
        // As many ranges as threads, each of which waits for the others: all threads take part.
        parallel::parallel_for(threads, 1, |_| {
            seen.lock().unwrap().insert(thread::current().id());
            inside.fetch_add(1, Ordering::SeqCst);
            wait_until(|| inside.load(Ordering::SeqCst) == threads);
        });
        assert_eq!(seen.lock().unwrap().len(), threads);
        // And no others do.
        parallel::parallel_for(1000, 1, |_| {
            seen.lock().unwrap().insert(thread::current().id());
        });
        assert!(threads > 1 || seen.lock().unwrap().len() == 1);
    }
}

/// Checks that `length` instructions, and no more, can be submitted behind one that does not end.
#[track_caller]
fn check_queue_length(limits: RunAhead, nbytes: usize, length: usize) {
    let before = vm::run_ahead();
    vm::set_run_ahead(limits);
    let (stream, gate, submitted) = (Stream::new(), Gate::default(), AtomicUsize::new(0));
    thread::scope(|s| {
        let started = Gate::default();
        let first = {
            let (gate, started) = (gate.clone(), started.clone());
            kernel(QUEUED, move |_, _| {
                started.open();
                gate.pass();
                Ok(())
            })
        };
        with_stream(&stream, || submit("first", &first, &[], &storage())).unwrap();
        started.pass();
        s.spawn(|| {
            for _ in 0..20 {
                let out = Storage::new(Device::Cpu, nbytes).unwrap();
                with_stream(&stream, || submit("more", &sum(QUEUED, 0), &[], &out)).unwrap();
                submitted.fetch_add(1, Ordering::SeqCst);
            }
        });
        wait_until(|| submitted.load(Ordering::SeqCst) >= length);
        // Long enough for one more, if it were possible.
        thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(submitted.load(Ordering::SeqCst), length);
        gate.open();
    });
    assert_eq!(submitted.load(Ordering::SeqCst), 20);
    stream.synchronize().unwrap();
    vm::set_run_ahead(before);
}

#[test]
fn the_number_of_queued_instructions_is_limited() {
    let _turn = turn();
    check_queue_length(RunAhead { instructions: 5, bytes: usize::MAX }, 8, 5);
}

#[test]
fn the_bytes_of_queued_outputs_are_limited() {
    let _turn = turn();
    check_queue_length(RunAhead { instructions: 1000, bytes: 10_000 }, 3000, 3);
    check_queue_length(RunAhead { instructions: 1000, bytes: 10_000 }, 30_000, 1);
}

#[test]
fn cost_decides_who_runs_a_kernel() {
    let _turn = turn();
    let before = vm::inline_cost();
    let (stream, caller) = (Stream::new(), thread::current().id());
    let on_caller = |cost| {
        let (out, done) = (storage(), Gate::default());
        let signal = done.clone();
        let k = kernel(cost, move |_, out| {
            *out = u64::from(thread::current().id() == caller);
            signal.open();
            Ok(())
        });
        with_stream(&stream, || submit("where", &k, &[], &out)).unwrap();
        // Not by reading: a reader may help.
        done.pass();
        value(&out).unwrap() == 1
    };
    vm::set_inline_cost(500);
    assert!(on_caller(500));
    assert!(!on_caller(501));
    vm::set_inline_cost(before);
}

#[test]
fn traces_tell_what_ran_where_and_when() {
    let _turn = turn();
    trace::start();
    let (stream, a, b) = (Stream::new(), storage(), storage());
    with_stream(&stream, || {
        submit("first", &sum(CHEAP, 1), &[], &a).unwrap();
        submit("sec\"ond", &sum(QUEUED, 1), &[&a], &b).unwrap();
    });
    stream.synchronize().unwrap();
    let events = trace::stop();
    with_stream(&stream, || submit("unseen", &sum(CHEAP, 1), &[], &a)).unwrap();
    assert!(trace::stop().is_empty());

    let [first, second] = &events[..] else { panic!("{events:?}") };
    assert_eq!((first.op.as_str(), second.op.as_str()), ("first", "sec\"ond"));
    assert_eq!((first.stream, second.stream), (stream.id(), stream.id()));
    assert_eq!((first.seq + 1, first.bytes), (second.seq, 8));
    for event in &events {
        assert!(0 < event.issued && event.issued <= event.start && event.start <= event.end, "{event:?}");
    }
    assert!(first.end <= second.start);

    let mut json = Vec::new();
    trace::write_chrome(&events, &mut json).unwrap();
    let json = String::from_utf8(json).unwrap();
    assert!(json.contains(r#""name":"sec\"ond","cat":"kernel","ph":"X","#), "{json}");
    assert_eq!(json.matches("\"ph\"").count(), 2);
    assert_eq!(json.matches('{').count(), json.matches('}').count());
}

#[test]
fn traces_tell_of_calls_between_processes() {
    let _turn = turn();
    let before = Communication::begin();
    trace::start();
    before.end(|| panic!("it began before the recording"));
    let call = Communication::begin();
    call.end(|| ("mpi:all_reduce".to_owned(), 64));
    let late = Communication::begin();
    let events = trace::stop();
    late.end(|| panic!("it ended after the recording"));
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!((event.kind, &event.op[..], event.bytes), (Kind::Communication, "mpi:all_reduce", 64));
    assert!(0 < event.start && event.start <= event.end);
    let mut json = Vec::new();
    trace::write_chrome(&events, &mut json).unwrap();
    assert!(
        String::from_utf8(json).unwrap().contains(r#""cat":"communication","ph":"X","pid":1,"tid":"communication""#)
    );
}

#[cfg(unix)]
mod fork {
    use super::*;

    /// Runs `f` in a forked child; says whether it returned true within 20 seconds.
    fn in_child(f: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child only uses what is made for that, and leaves without unwinding or running destructors.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
            // SAFETY: ends the child.
            unsafe { libc::_exit(if good { 0 } else { 1 }) };
        }
        let mut status = 0;
        for _ in 0..2000 {
            // SAFETY: waits for our own child.
            if unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == child {
                return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        // SAFETY: our own child, which hangs.
        unsafe { libc::kill(child, libc::SIGKILL) };
        // SAFETY: waits for our own child, which has been killed.
        unsafe { libc::waitpid(child, &mut status, 0) };
        false
    }

    /// Uses every part of the runtime.
    fn works(stream: &Stream) -> bool {
        let count = AtomicUsize::new(0);
        parallel::parallel_for(1000, 10, |range| {
            count.fetch_add(range.len(), Ordering::Relaxed);
        });
        let (a, ran) = (storage_of(1), Gate::default());
        let signal = ran.clone();
        let last = kernel(QUEUED, move |inputs, out| {
            *out = inputs[0] + 1;
            signal.open();
            Ok(())
        });
        with_stream(stream, || {
            submit("inline", &sum(CHEAP, 1), &[&a], &a).unwrap();
            submit("queued", &last, &[&a], &a).unwrap();
        });
        // The stream has a worker again: it runs without anybody reading.
        ran.pass();
        count.into_inner() == 1000 && value(&a).unwrap() == 3
    }

    #[test]
    fn a_forked_child_has_a_working_runtime() {
        let _turn = turn();
        let stream = Stream::new();
        assert!(works(&stream));
        assert!(in_child(|| works(&stream)));
        assert!(works(&stream));
    }

    #[test]
    fn forking_amid_the_work_of_other_threads() {
        let _turn = turn();
        let stop = Gate::default();
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let stream = Stream::new();
                    while !stop.is_open() {
                        assert!(works(&stream));
                    }
                });
            }
            let all_good = (0..20).all(|_| in_child(|| works(&Stream::new())));
            stop.open();
            assert!(all_good);
        });
    }

    #[test]
    fn a_kernel_that_a_fork_cuts_off_has_failed_in_the_child() {
        let _turn = turn();
        let (stream, gate, out) = (Stream::new(), Gate::default(), storage());
        let started = Gate::default();
        let (held, signal) = (gate.clone(), started.clone());
        let slow = kernel(QUEUED, move |_, out| {
            signal.open();
            held.pass();
            *out = 1;
            Ok(())
        });
        with_stream(&stream, || submit("slow", &slow, &[], &out)).unwrap();
        started.pass();
        let failed = || matches!(vm::read(&out), Err(Error::Deferred { op, .. }) if op == "slow");
        assert!(in_child(|| failed() && works(&stream)));
        gate.open();
        assert_eq!(value(&out).unwrap(), 1);
    }
}

#[test]
fn synchronising_everything_reports_one_failure_after_the_other() {
    let _turn = turn();
    vm::synchronize().unwrap();
    let (streams, gate) = ([Stream::new(), Stream::new()], Gate::default());
    for stream in &streams {
        let held = gate.clone();
        let fail = kernel(QUEUED, move |_, _| {
            held.pass();
            Err(Error::msg("failed"))
        });
        with_stream(stream, || submit("fail", &fail, &[], &storage())).unwrap();
    }
    gate.open();
    assert!(vm::synchronize().is_err());
    assert!(vm::synchronize().is_err());
    vm::synchronize().unwrap();
}

#[test]
fn dropped_streams_run_out_and_their_slots_are_used_again() {
    let _turn = turn();
    for i in 0..50 {
        let (stream, out) = (Stream::new(), storage());
        let id = stream.id();
        with_stream(&stream, || submit("one", &sum(QUEUED, i), &[], &out)).unwrap();
        drop(stream);
        assert_eq!(value(&out).unwrap(), i);
        let mut others = Vec::new();
        wait_until(|| {
            others.push(Stream::new());
            others.iter().any(|stream| stream.id() == id)
        });
    }
}
