//! Calls that wait in a queue, run as one kernel.

mod common;

use std::borrow::Cow;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::{Gate, QUEUED, kernel, storage, storage_of, value};
use opforge_core::{Error, Result};
use opforge_runtime::vm::{self, Call, Content, Fused, Fuser, Part, Place, Window, trace};
use opforge_runtime::{Argument, HostKernel, Kernel, Storage, checkpoint};

/// The first input plus a number; fails for the sum 13.
struct Plus(u64);

/// What a call adds that ends only when it is told to.
const FOREVER: u64 = u64::MAX / 2;

static BEGUN: AtomicBool = AtomicBool::new(false);

fn plus(number: u64, x: u64) -> Result<u64> {
    if number == FOREVER {
        BEGUN.store(true, Ordering::Release);
        loop {
            checkpoint();
        }
    }
    match x + number {
        13 => Err(Error::msg("thirteen")),
        sum => Ok(sum),
    }
}

/// Runs calls of [`Plus`] of which each reads what the one before it wrote.
struct Sums;

impl Fuser for Sums {
    fn fuse(&self, waiting: &Window) -> Option<Fused> {
        let mut calls = 1;
        while calls < waiting.calls.len() && waiting.calls[calls].inputs[0] == waiting.calls[calls - 1].outputs[0] {
            calls += 1;
        }
        let numbers = waiting.calls[..calls].iter().map(|call| call.part.downcast_ref::<Plus>().unwrap().0);
        let writes: Vec<Place> = waiting.calls[..calls].iter().map(|call| call.outputs[0]).collect();
        let mut outputs: Vec<Place> =
            writes.iter().copied().filter(|place| waiting.is_wanted(place.storage, calls)).collect();
        outputs.dedup();
        let writes = writes.iter().map(|write| outputs.iter().position(|output| output == write)).collect();
        let kernel = Arc::new(Chain { numbers: numbers.collect(), writes });
        let inputs = [waiting.calls[0].inputs[0]].into_iter().collect();
        Some(Fused { calls, kernel, inputs, outputs: outputs.into_iter().collect() })
    }
}

struct Chain {
    numbers: Vec<u64>,
    /// The output that each sum is written to.
    writes: Vec<Option<usize>>,
}

impl HostKernel for Chain {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: all storages of these tests have 8 bytes.
        let mut x = unsafe { inputs[0].cast::<u64>().read() };
        for (number, write) in self.numbers.iter().zip(&self.writes) {
            x = plus(*number, x)?;
            if let Some(output) = write {
                // SAFETY: each output is a storage of 8 bytes.
                unsafe { outputs[*output].cast::<u64>().write(x) };
            }
        }
        Ok(())
    }
    fn cost(&self) -> u64 {
        QUEUED
    }
}

/// These tests change what is the process's: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    vm::set_fuser(&Sums);
    vm::set_fusing(true);
    guard
}

#[track_caller]
fn add(number: u64, x: &Arc<Storage>, y: &Arc<Storage>) {
    let part: Arc<Part> = Arc::new(Plus(number));
    let kernel = kernel(QUEUED, move |x, y| plus(number, x[0]).map(|sum| *y = sum));
    submit(&kernel, Some(&part), x, y);
}

#[track_caller]
fn submit(kernel: &Arc<dyn Kernel>, part: Option<&Arc<Part>>, x: &Arc<Storage>, y: &Arc<Storage>) {
    let (op, at) = (&Cow::Borrowed("plus"), Location::caller());
    let (inputs, outputs) = (&[Argument::new(x, 0)], &[Argument::new(y, 0)]);
    let content = if y.is_reserved() { Content::Changed } else { Content::New };
    let call = Call { op, at, kernel, part, inputs, outputs, content };
    // SAFETY: the kernel reads and writes 8 bytes.
    unsafe { vm::submit(&call) }.unwrap();
}

/// Holds the queue until the gate is opened.
fn hold() -> Gate {
    let gate = Gate::default();
    let waiting = gate.clone();
    let kernel = kernel(QUEUED, move |_, _| {
        waiting.pass();
        Ok(())
    });
    submit(&kernel, None, &storage_of(0), &storage());
    gate
}

/// The lengths of the programs that ran, and of the calls that ran alone.
fn programs(f: impl FnOnce()) -> Vec<usize> {
    trace::start();
    f();
    vm::synchronize().ok();
    let mut lengths = Vec::new();
    let mut last = None;
    for event in trace::stop().iter().filter(|event| event.op == "plus").skip(1) {
        assert!(event.start <= event.end && event.issued <= event.start);
        match lengths.last_mut() {
            Some(length) if event.program.is_some() && event.program == last => *length += 1,
            _ => lengths.push(1),
        }
        last = event.program;
    }
    lengths
}

#[test]
fn results_that_nobody_holds_are_not_written() {
    let _alone = alone();
    let (x, y, z) = (storage_of(1), storage(), storage());
    let gone = storage();
    let dropped = Arc::downgrade(&gone);
    let ran = programs(|| {
        let gate = hold();
        add(2, &x, &y);
        add(3, &y, &gone);
        add(4, &gone, &z);
        drop(gone);
        gate.open();
    });
    assert_eq!(ran, [3]);
    assert!(dropped.upgrade().is_none());
    assert_eq!([&y, &z].map(|s| value(s).unwrap()), [3, 10]);
}

#[test]
fn what_a_later_call_reads_is_written() {
    let _alone = alone();
    let (x, y, z) = (storage_of(1), storage(), storage());
    let ran = programs(|| {
        let gate = hold();
        let t = storage();
        add(2, &x, &t);
        add(3, &t, &y);
        // Reads another's result than the call before it: a program of its own.
        add(4, &t, &z);
        drop(t);
        gate.open();
    });
    assert_eq!(ran, [2, 1]);
    assert_eq!([&y, &z].map(|s| value(s).unwrap()), [6, 7]);
}

#[test]
fn a_failure_is_the_call_s_whose_it_is() {
    let _alone = alone();
    let (x, y, z) = (storage_of(1), storage(), storage());
    let line = line!() + 6;
    let ran = programs(|| {
        let gate = hold();
        let t = storage();
        add(2, &x, &t);
        // 3 + 10.
        add(10, &t, &y);
        add(4, &y, &z);
        gate.open();
    });
    assert_eq!(ran.iter().sum::<usize>(), 2, "the third call had nothing to compute with");
    for storage in [&y, &z] {
        let Err(Error::Deferred { at, inner, .. }) = value(storage) else { panic!("a value") };
        assert_eq!((at.line(), inner.to_string()), (line, "thirteen".to_owned()));
    }
}

#[test]
fn memory_that_is_changed_in_place_stays() {
    let _alone = alone();
    let x = storage_of(1);
    let ran = programs(|| {
        let gate = hold();
        (0..5).for_each(|_| add(1, &x, &x));
        gate.open();
    });
    assert_eq!((ran, value(&x).unwrap()), (vec![5], 6));
}

#[test]
fn the_switch_turns_it_off() {
    let _alone = alone();
    vm::set_fusing(false);
    let (x, y) = (storage_of(1), storage());
    let ran = programs(|| {
        let gate = hold();
        let t = storage();
        add(2, &x, &t);
        add(3, &t, &y);
        gate.open();
    });
    assert_eq!((ran, value(&y).unwrap()), (vec![1, 1], 6));
}

#[test]
fn a_program_that_nobody_wants_any_more_is_stopped() {
    let _alone = alone();
    let (x, y) = (storage_of(1), storage());
    let ran = programs(|| {
        let gate = hold();
        let (t, gone) = (storage(), storage());
        add(2, &x, &t);
        add(FOREVER, &t, &gone);
        let left = Arc::downgrade(&gone);
        drop((t, gone));
        gate.open();
        common::wait_until(|| BEGUN.load(Ordering::Acquire));
        // The call of the front end's that made them has failed.
        vm::abandon_unwanted();
        add(3, &x, &y);
        assert_eq!(value(&y).unwrap(), 4);
        common::wait_until(|| left.upgrade().is_none());
    });
    assert!(ran.len() <= 3, "{ran:?}");
}

#[test]
fn who_waits_may_run_programs_too() {
    let _alone = alone();
    let x = storage_of(1);
    for round in 0..200u64 {
        let (t, y) = (storage(), storage());
        add(20, &x, &t);
        add(30, &t, &y);
        drop(t);
        assert_eq!(value(&y).unwrap(), 51, "round {round}");
    }
}
