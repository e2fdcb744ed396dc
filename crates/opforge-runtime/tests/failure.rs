//! How failures travel: errors and panics of kernels, to whoever needs what they should have written.
#![cfg(not(loom))]

mod common;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use common::*;
use opforge_core::{Error, ErrorKind};
use opforge_runtime::vm::{self, Content, Stream, with_stream};
use opforge_runtime::{Argument, Context, Kernel, Storage};

fn failing(cost: u64) -> Arc<dyn Kernel> {
    kernel(cost, |_, _| Err(Error::index("gather", "index", 7, "0 to 3")))
}

fn panicking(cost: u64) -> Arc<dyn Kernel> {
    kernel(cost, |inputs, _| panic!("{} is unlucky", inputs.len()))
}

fn error_of(storage: &Storage) -> Error {
    vm::read(storage).unwrap_err()
}

#[test]
fn a_cheap_kernels_error_is_returned_and_stays_with_its_output() {
    let (out, stream) = (storage(), Stream::new());
    let error = with_stream(&stream, || submit("gather", &failing(CHEAP), &[], &out)).unwrap_err();
    assert!(matches!(error, Error::Index(_)));
    assert!(matches!(error_of(&out), Error::Deferred { .. }));
    stream.synchronize().unwrap();
}

#[test]
fn a_queued_kernels_error_names_operator_and_place() {
    let out = storage();
    let line = line!() + 1;
    with_stream(&Stream::new(), || submit("gather", &failing(QUEUED), &[], &out)).unwrap();
    let error = error_of(&out);
    let Error::Deferred { op, at, .. } = &error else { panic!("{error:?}") };
    assert_eq!((op.as_ref(), at.file(), at.line()), ("gather", file!(), line));
    assert_eq!(error.kind(), ErrorKind::Index);
    assert_eq!(vm::wait_for_read(&out).unwrap_err().kind(), ErrorKind::Index);
}

#[test]
fn a_panic_becomes_an_error_and_the_stream_goes_on() {
    for cost in [CHEAP, QUEUED] {
        let (stream, a, out, next) = (Stream::new(), storage_of(1), storage(), storage());
        let result = with_stream(&stream, || submit("luck", &panicking(cost), &[&a], &out));
        assert_eq!(result.is_err(), cost == CHEAP);
        let error = error_of(&out);
        let Error::Kernel { op, message } = error.root() else { panic!("{error:?}") };
        assert_eq!((op.as_ref(), message.as_str()), ("luck", "panic: 1 is unlucky"));
        with_stream(&stream, || submit("next", &sum(cost, 5), &[], &next)).unwrap();
        assert_eq!(value(&next).unwrap(), 5);
    }
}

#[test]
fn what_needs_a_failed_output_does_not_run() {
    let stream = Stream::new();
    let (a, b, c) = (storage(), storage(), storage());
    let never = kernel(QUEUED, |_, _| panic!("must not run"));
    with_stream(&stream, || {
        submit("gather", &failing(QUEUED), &[], &a).unwrap();
        submit("second", &never, &[&a], &b).unwrap();
        submit("third", &never, &[&b], &c).unwrap();
    });
    for storage in [&c, &b, &a] {
        let error = error_of(storage);
        assert!(matches!(&error, Error::Deferred { op, .. } if op == "gather"), "{error}");
    }
    // Now that the failure is known, a call that needs it fails at once.
    let error = with_stream(&stream, || submit("fourth", &sum(CHEAP, 0), &[&c], &storage())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
}

#[test]
fn failures_cross_streams() {
    let (gate, a, b) = (Gate::default(), storage(), storage());
    let held = gate.clone();
    let fail = kernel(QUEUED, move |_, _| {
        held.pass();
        Err(Error::msg("late"))
    });
    with_stream(&Stream::new(), || submit("late", &fail, &[], &a)).unwrap();
    with_stream(&Stream::new(), || submit("copy", &sum(CHEAP, 0), &[&a], &b)).unwrap();
    gate.open();
    assert!(matches!(error_of(&b), Error::Deferred { op, .. } if op == "late"));
}

#[test]
fn a_failure_lasts_until_the_content_is_replaced() {
    let replacements: [fn(&Arc<Storage>); 2] = [
        |a| submit_to("fill", &sum(CHEAP, 3), &[], (a, Content::Replaced)).unwrap(),
        |a| {
            vm::clear_poison(a);
            submit("fill", &sum(CHEAP, 3), &[], a).unwrap();
        },
    ];
    for replace in replacements {
        let a = storage_of(1);
        submit("gather", &failing(CHEAP), &[&a], &a).unwrap_err();
        assert!(submit("inc", &sum(CHEAP, 1), &[&a], &a).is_err());
        assert!(submit("partial", &sum(CHEAP, 1), &[], &a).is_err());
        assert!(vm::write(&a).is_err());
        replace(&a);
        assert_eq!(value(&a).unwrap(), 3);
    }
}

#[test]
fn existing_memory_is_usable_once_the_failure_is_known() {
    // Known at once, from the call itself.
    let a = storage_of(4);
    submit_to("put", &failing(CHEAP), &[&a], (&a, Content::Changed)).unwrap_err();
    assert_eq!(value(&a).unwrap(), 4);

    // Known to the first who reads it; what was issued before does not run on what the kernel left.
    let stream = Stream::new();
    for read_first in [true, false] {
        let b = storage();
        with_stream(&stream, || {
            submit_to("put", &failing(QUEUED), &[&a], (&a, Content::Changed)).unwrap();
            submit("next", &sum(QUEUED, 1), &[&a], &b).unwrap();
        });
        let all = if read_first { [&a, &b] } else { [&b, &a] };
        for storage in all {
            assert_eq!(error_of(storage).kind(), ErrorKind::Index);
        }
        assert_eq!(value(&a).unwrap(), 4);
        error_of(&b);
    }
    submit_to("inc", &sum(CHEAP, 1), &[&a], (&a, Content::Changed)).unwrap();
    assert_eq!(value(&a).unwrap(), 5);
}

#[test]
fn being_told_of_one_failure_does_not_end_another() {
    let (a, b, out, stream) = (storage_of(4), storage_of(5), storage(), Stream::new());
    with_stream(&stream, || {
        for storage in [&a, &b] {
            submit_to("put", &failing(QUEUED), &[storage], (storage, Content::Changed)).unwrap();
        }
    });
    assert!(stream.synchronize().is_err());
    // The call is refused because of one of its inputs; the failure of the other has not been told.
    submit("add", &sum(CHEAP, 0), &[&a, &b], &out).unwrap_err();
    assert_eq!(value(&a).unwrap(), 4);
    assert_eq!(error_of(&b).kind(), ErrorKind::Index);
    assert_eq!(value(&b).unwrap(), 5);
}

#[test]
fn synchronising_reports_what_nobody_has_seen_once() {
    let (stream, a, b) = (Stream::new(), storage(), storage());
    with_stream(&stream, || submit("gather", &failing(QUEUED), &[], &a)).unwrap();
    assert_eq!(stream.synchronize().unwrap_err().kind(), ErrorKind::Index);
    stream.synchronize().unwrap();

    with_stream(&stream, || submit("gather", &failing(QUEUED), &[], &b)).unwrap();
    assert_eq!(error_of(&b).kind(), ErrorKind::Index);
    stream.synchronize().unwrap();
}

#[test]
fn read_only_memory_is_never_written() {
    static BYTES: [u64; 1] = [4];
    // SAFETY: static memory, declared read-only.
    let a = unsafe { Storage::from_raw(std::ptr::NonNull::from(&BYTES).cast(), 8, true, Box::new(())) };
    let error = submit("fill", &sum(CHEAP, 3), &[], &a).unwrap_err();
    assert_eq!(error.report().unwrap().op, "fill");
    assert_eq!(vm::write(&a).unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(value(&a).unwrap(), 4);
}

#[test]
fn meta_storages_have_no_data() {
    let meta = Storage::new(opforge_runtime::Device::Meta, usize::MAX).unwrap();
    assert_eq!(vm::read(&meta).unwrap_err().kind(), ErrorKind::Device);
    assert_eq!(submit("fill", &sum(CHEAP, 3), &[], &meta).unwrap_err().kind(), ErrorKind::Device);
}

#[test]
fn a_panicking_owner_does_not_end_the_worker() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("cannot be dropped");
        }
    }
    let (stream, gate, out) = (Stream::new(), Gate::default(), storage());
    static MEMORY: AtomicU64 = AtomicU64::new(6);
    // SAFETY: static memory that nobody else uses.
    let a = unsafe { Storage::from_raw(std::ptr::NonNull::from(&MEMORY).cast(), 8, false, Box::new(Bomb)) };
    with_stream(&stream, || submit("copy", &gate.sum(0), &[&a], &out)).unwrap();
    drop(a);
    gate.open();
    assert_eq!(value(&out).unwrap(), 6);
    with_stream(&stream, || submit("next", &sum(QUEUED, 1), &[&out], &out)).unwrap();
    assert_eq!(value(&out).unwrap(), 7);
}

/// Notes why it was not carried out.
struct Forgone(Arc<Mutex<Vec<String>>>);

impl Kernel for Forgone {
    unsafe fn launch(&self, _: &Context, _: &[Argument<'_>], _: &[Argument<'_>]) -> Result<()> {
        panic!("its input is unusable");
    }

    fn duration(&self) -> u64 {
        QUEUED
    }

    fn forgo(&self, reason: &Error) {
        self.0.lock().unwrap().push(reason.to_string());
    }
}

#[test]
fn a_kernel_hears_why_it_is_not_carried_out() {
    let (a, b, reasons) = (storage(), storage(), Arc::default());
    let forgone: Arc<dyn Kernel> = Arc::new(Forgone(Arc::clone(&reasons)));
    let gate = Gate::default();
    let late = {
        let gate = gate.clone();
        kernel(QUEUED, move |_, _| {
            gate.pass();
            Err(Error::index("gather", "index", 7, "0 to 3"))
        })
    };
    with_stream(&Stream::new(), || submit("gather", &late, &[], &a)).unwrap();
    with_stream(&Stream::new(), || submit("send", &forgone, &[&a], &b)).unwrap();
    gate.open();
    assert!(error_of(&b).to_string().contains("gather"));
    let reasons = reasons.lock().unwrap();
    assert!(matches!(&reasons[..], [reason] if reason.contains("gather")), "{reasons:?}");
}
