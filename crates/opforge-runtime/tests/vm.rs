//! The VM: order, dependences, running ahead, lifetimes.
#![cfg(not(loom))]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::*;
use opforge_runtime::vm::{self, Stream, with_stream};

#[test]
fn a_cheap_kernel_runs_on_the_caller() {
    let out = storage();
    let caller = thread::current().id();
    let k = kernel(CHEAP, move |_, out| {
        *out = u64::from(thread::current().id() == caller);
        Ok(())
    });
    with_stream(&Stream::new(), || submit("where", &k, &[], &out)).unwrap();
    assert_eq!(value(&out).unwrap(), 1);
}

#[test]
fn a_costly_kernel_lets_the_caller_go_on() {
    let (gate, out) = (Gate::default(), storage());
    with_stream(&Stream::new(), || submit("slow", &gate.sum(7), &[], &out)).unwrap();
    gate.open();
    assert_eq!(value(&out).unwrap(), 7);
}

#[test]
fn instructions_that_wait_do_not_share_storages() {
    let (gate, a, b) = (Gate::default(), storage(), storage());
    with_stream(&Stream::new(), || {
        submit("slow", &gate.sum(7), &[], &a).unwrap();
        submit("read", &sum(QUEUED, 0), &[&a], &b).unwrap();
    });
    assert!(a.is_unshared() && b.is_unshared());
    let other = a.clone();
    assert!(!a.is_unshared());
    drop(other);
    gate.open();
    assert_eq!(value(&b).unwrap(), 7);
    assert!(a.is_unshared() && b.is_unshared());
}

#[test]
fn a_stream_keeps_its_order() {
    let stream = Stream::new();
    let (a, log) = (storage(), Arc::new(Mutex::new(Vec::new())));
    for i in 0..200 {
        let log = log.clone();
        let cost = if i % 3 == 0 { QUEUED } else { CHEAP };
        let k = kernel(cost, move |inputs, out| {
            log.lock().unwrap().push(i);
            *out = inputs[0] + 1;
            Ok(())
        });
        with_stream(&stream, || submit("count", &k, &[&a], &a)).unwrap();
    }
    assert_eq!(value(&a).unwrap(), 200);
    assert_eq!(*log.lock().unwrap(), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_reader_waits_for_the_writer_on_another_stream() {
    let (gate, a, b) = (Gate::default(), storage(), storage());
    with_stream(&Stream::new(), || submit("write", &gate.sum(5), &[], &a)).unwrap();
    with_stream(&Stream::new(), || submit("read", &sum(CHEAP, 1), &[&a], &b)).unwrap();
    gate.open();
    assert_eq!(value(&b).unwrap(), 6);
}

#[test]
fn a_writer_waits_for_readers_on_other_streams() {
    let (gate, a) = (Gate::default(), storage_of(1));
    let (b, c) = (storage(), storage());
    for out in [&b, &c] {
        with_stream(&Stream::new(), || submit("read", &gate.sum(0), &[&a], out)).unwrap();
    }
    with_stream(&Stream::new(), || submit("write", &sum(CHEAP, 9), &[], &a)).unwrap();
    gate.open();
    assert_eq!((value(&b).unwrap(), value(&c).unwrap(), value(&a).unwrap()), (1, 1, 9));
}

#[test]
fn streams_run_side_by_side() {
    let (gate, a, b) = (Gate::default(), storage(), storage());
    let opener = gate.clone();
    let open = kernel(QUEUED, move |_, out| {
        opener.open();
        *out = 2;
        Ok(())
    });
    let (slow, fast) = (Stream::new(), Stream::new());
    with_stream(&slow, || submit("wait", &gate.sum(1), &[], &a)).unwrap();
    with_stream(&fast, || submit("open", &open, &[], &b)).unwrap();
    assert_eq!((value(&a).unwrap(), value(&b).unwrap()), (1, 2));
}

#[test]
fn a_host_read_waits_only_for_its_storage() {
    let (gate, a, b) = (Gate::default(), storage(), storage());
    let stream = Stream::new();
    with_stream(&stream, || {
        submit("first", &sum(QUEUED, 3), &[], &a).unwrap();
        submit("second", &gate.sum(4), &[], &b).unwrap();
    });
    assert_eq!(value(&a).unwrap(), 3);
    gate.open();
    stream.synchronize().unwrap();
    assert_eq!(value(&b).unwrap(), 4);
}

#[test]
fn an_in_place_kernel_waits_for_a_host_read() {
    let a = storage_of(1);
    let guard = vm::read(&a).unwrap();
    for cost in [CHEAP, QUEUED] {
        with_stream(&Stream::new(), || submit("inc", &sum(cost, 1), &[&a], &a)).unwrap();
    }
    thread::sleep(Duration::from_millis(20));
    assert_eq!(guard[0], 1u64.to_ne_bytes()[0]);
    drop(guard);
    assert_eq!(value(&a).unwrap(), 3);
}

#[test]
fn kernels_wait_for_a_host_write() {
    let (a, b) = (storage_of(1), storage());
    let mut guard = vm::write(&a).unwrap();
    with_stream(&Stream::new(), || submit("copy", &sum(CHEAP, 0), &[&a], &b)).unwrap();
    thread::sleep(Duration::from_millis(20));
    guard[..8].copy_from_slice(&5u64.to_ne_bytes());
    drop(guard);
    assert_eq!(value(&b).unwrap(), 5);
}

#[test]
fn reading_several_storages_takes_them_together() {
    let (gate, a, b) = (Gate::default(), storage_of(1), storage());
    with_stream(&Stream::new(), || submit("slow", &gate.sum(2), &[], &b)).unwrap();
    thread::scope(|s| {
        let both = s.spawn(|| vm::read_all(&[&a, &b]).unwrap().iter().map(|bytes| bytes[0]).sum::<u8>());
        // The waiting reader does not hold `a` yet.
        submit("inc", &sum(CHEAP, 1), &[&a], &a).unwrap();
        gate.open();
        assert!([3, 4].contains(&both.join().unwrap()));
    });
}

#[test]
fn nothing_was_written_reads_as_zero() {
    let (a, b) = (storage(), storage());
    submit("read", &sum(CHEAP, 1), &[&a], &b).unwrap();
    assert_eq!((value(&a).unwrap(), value(&b).unwrap()), (0, 1));
}

#[test]
fn memory_is_reserved_when_the_kernel_runs() {
    let (gate, a, b) = (Gate::default(), storage(), storage());
    let stream = Stream::new();
    with_stream(&stream, || {
        submit("first", &gate.sum(0), &[], &a).unwrap();
        submit("second", &sum(QUEUED, 0), &[], &b).unwrap();
    });
    assert!(!b.is_reserved());
    gate.open();
    stream.synchronize().unwrap();
    assert!(b.is_reserved());
}

#[test]
fn tensors_may_be_dropped_in_flight() {
    let stream = Stream::new();
    let (gate, sink) = (Gate::default(), storage());
    let seen = Arc::new(AtomicU64::new(0));
    for i in 0..50 {
        let (input, between) = (storage_of(i), storage());
        let seen = seen.clone();
        let add = kernel(QUEUED, move |inputs, _| {
            seen.fetch_add(inputs[0], Ordering::Relaxed);
            Ok(())
        });
        with_stream(&stream, || {
            submit("slow", &gate.sum(1), &[&input], &between).unwrap();
            submit("add", &add, &[&between], &sink).unwrap();
        });
    }
    gate.open();
    drop(stream);
    vm::wait_for_read(&sink).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), (0..50).map(|i| i + 1).sum());
}

#[test]
fn many_threads_share_a_stream_and_a_storage() {
    let total = storage_of(0);
    let stream = Stream::new();
    thread::scope(|s| {
        for t in 0..4 {
            let (total, stream) = (&total, &stream);
            s.spawn(move || {
                for i in 0..500 {
                    let cost = if (i + t) % 5 == 0 { QUEUED } else { CHEAP };
                    with_stream(stream, || submit("inc", &sum(cost, 1), &[total], total)).unwrap();
                    if i % 97 == 0 {
                        assert!(value(total).unwrap() > 0);
                    }
                }
            });
        }
    });
    assert_eq!(value(&total).unwrap(), 2000);
}

#[test]
fn many_threads_many_streams_many_storages() {
    // Every operation adds 1 to one storage through another: the sum counts the operations, if none is lost or torn.
    let cells: Vec<_> = (0..6).map(|_| storage_of(0)).collect();
    thread::scope(|s| {
        for t in 0..4usize {
            let cells = &cells;
            s.spawn(move || {
                let stream = Stream::new();
                for i in 0..500usize {
                    let cell = &cells[(i * 7 + t) % cells.len()];
                    let cost = if i % 4 == 0 { QUEUED } else { CHEAP };
                    with_stream(&stream, || submit("inc", &sum(cost, 1), &[cell], cell)).unwrap();
                    if i % 50 == 0 {
                        vm::write(cell).unwrap();
                    }
                }
            });
        }
    });
    vm::synchronize().unwrap();
    assert_eq!(cells.iter().map(|cell| value(cell).unwrap()).sum::<u64>(), 2000);
}

#[test]
fn a_waiting_host_runs_what_stands_before_it() {
    let (stream, a) = (Stream::new(), storage());
    let reader = thread::current().id();
    let mut helped = 0;
    for _ in 0..200 {
        let k = kernel(QUEUED, move |_, out| {
            *out = u64::from(thread::current().id() == reader);
            Ok(())
        });
        with_stream(&stream, || submit("where", &k, &[], &a)).unwrap();
        helped += value(&a).unwrap();
    }
    // The worker is told too and sometimes comes first, but not always.
    assert!(helped > 0);
}

#[test]
fn kernels_on_exposed_memory_have_run_when_their_calls_return() {
    let (a, b) = (storage_of(1), storage());
    a.expose().unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let seen = done.clone();
    let k = kernel(QUEUED, move |inputs, out| {
        thread::sleep(Duration::from_millis(20));
        *out = inputs[0] + 1;
        seen.store(1, Ordering::SeqCst);
        Ok(())
    });
    with_stream(&Stream::new(), || submit("read", &k, &[&a], &b)).unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 1);
    assert!(a.is_exposed() && !a.is_unshared());
}
