//! Models of the VM's core, checked by loom over all interleavings:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p opforge-runtime --test loom`.
//!
//! Each storage has a loom cell beside it, which kernels and host accesses touch in its stead: loom reports every race and every lost
//! wake-up (as a deadlock).
#![cfg(loom)]

use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::thread;
use opforge_core::{Error, Result};
use opforge_runtime::vm::model::Vm;
use opforge_runtime::vm::{Call, Content};
use opforge_runtime::{Argument, Device, HostKernel, Kernel, Storage};

/// Runs under the VM's lock.
const BRIEF: u64 = 0;
/// Runs on the calling thread, outside of the lock.
const CHEAP: u64 = 1_000;
const QUEUED: u64 = u64::MAX;

/// A storage and the cell that stands for its content.
#[derive(Clone)]
struct Value(Arc<Storage>, Arc<Cell>);

struct Cell(UnsafeCell<u64>);

// SAFETY: this is what the models check: that the VM keeps accesses apart.
unsafe impl Sync for Cell {}

impl Value {
    fn new() -> Self {
        Value(Storage::new(Device::Cpu, 8).unwrap(), Arc::new(Cell(UnsafeCell::new(0))))
    }
    fn get(&self) -> u64 {
        // SAFETY: loom checks it.
        self.1.0.with(|value| unsafe { *value })
    }
    fn set(&self, value: u64) {
        // SAFETY: loom checks it.
        self.1.0.with_mut(|cell| unsafe { *cell = value });
    }
}

/// `output = input + 1`, or a failure.
struct Increment {
    cost: u64,
    input: Arc<Cell>,
    output: Arc<Cell>,
    fails: bool,
    /// Told when the kernel has run.
    ran: Option<Arc<Notify>>,
}

impl HostKernel for Increment {
    unsafe fn run(&self, _: &[*const u8], _: &[*mut u8]) -> Result<()> {
        // SAFETY: loom checks it.
        let value = self.input.0.with(|input| unsafe { *input });
        // SAFETY: loom checks it.
        self.output.0.with_mut(|output| unsafe { *output = value + 1 });
        if let Some(ran) = &self.ran {
            ran.notify();
        }
        if self.fails { Err(Error::msg("failed")) } else { Ok(()) }
    }
    fn cost(&self) -> u64 {
        self.cost
    }
}

fn increment(cost: u64, input: &Value, output: &Value) -> Increment {
    Increment { cost, input: input.1.clone(), output: output.1.clone(), fails: false, ran: None }
}

fn submit(vm: &Vm, slot: u32, cost: u64, input: &Value, output: &Value) {
    submit_kernel(vm, slot, increment(cost, input, output), input, output);
}

fn submit_kernel(vm: &Vm, slot: u32, kernel: Increment, input: &Value, output: &Value) {
    let kernel: Arc<dyn Kernel> = Arc::new(kernel);
    let (inputs, outputs) = (&[Argument::new(&input.0, 0)], &[Argument::new(&output.0, 0)]);
    let (op, at) = (Cow::Borrowed("increment"), Location::caller());
    let call = Call { op: &op, at, kernel: &kernel, part: None, inputs, outputs, content: Content::New };
    // SAFETY: the kernel ignores the addresses.
    unsafe { vm.submit(slot, &call) }.unwrap();
}

fn read(vm: &Vm, value: &Value) -> u64 {
    let _guard = vm.read(&value.0).unwrap();
    value.get()
}

fn check(model: impl Fn(&Vm) + Send + Sync + 'static) {
    // SAFETY: every run of a model makes its own storages.
    loom::model(move || model(&unsafe { Vm::new() }));
}

#[test]
fn a_queued_instruction_runs_once_and_is_waited_for() {
    check(|vm| {
        let slot = vm.open_stream();
        let worker = vm.start_worker(slot);
        let (a, b) = (Value::new(), Value::new());
        submit(vm, slot, QUEUED, &a, &b);
        assert_eq!(read(vm, &b), 1);
        vm.close_stream(slot);
        worker.join().unwrap();
    });
}

#[test]
fn two_threads_share_a_stream() {
    check(|vm| {
        let a = Value::new();
        let other = {
            let (vm, a) = (vm.clone(), a.clone());
            thread::spawn(move || submit(&vm, 0, BRIEF, &a, &a))
        };
        submit(vm, 0, CHEAP, &a, &a);
        other.join().unwrap();
        assert_eq!(read(vm, &a), 2);
    });
}

#[test]
fn an_in_place_write_and_a_host_read_exclude_each_other() {
    for cost in [BRIEF, CHEAP] {
        check(move |vm| {
            let a = Value::new();
            let reader = {
                let (vm, a) = (vm.clone(), a.clone());
                thread::spawn(move || {
                    let _guard = vm.read(&a.0).unwrap();
                    let before = a.get();
                    assert_eq!(a.get(), before);
                })
            };
            submit(vm, 0, cost, &a, &a);
            assert_eq!(read(vm, &a), 1);
            reader.join().unwrap();
        });
    }
}

#[test]
fn a_host_write_excludes_kernels_and_host_reads() {
    for cost in [BRIEF, CHEAP] {
        check(move |vm| {
            let a = Value::new();
            let writer = {
                let (vm, a) = (vm.clone(), a.clone());
                thread::spawn(move || {
                    let _guard = vm.write(&a.0).unwrap();
                    a.set(a.get() + 10);
                })
            };
            submit(vm, 0, cost, &a, &a);
            assert!([1, 11].contains(&read(vm, &a)));
            writer.join().unwrap();
            assert_eq!(read(vm, &a), 11);
        });
    }
}

#[test]
fn a_host_write_waits_for_kernels_that_read() {
    check(|vm| {
        let slot = vm.open_stream();
        let worker = vm.start_worker(slot);
        let (a, b) = (Value::new(), Value::new());
        submit(vm, slot, QUEUED, &a, &b);
        let guard = vm.write(&a.0).unwrap();
        a.set(10);
        drop(guard);
        assert_eq!(read(vm, &b), 1);
        vm.close_stream(slot);
        worker.join().unwrap();
    });
}

#[test]
fn a_worker_hears_of_what_is_queued_behind_a_cheap_kernel() {
    check(|vm| {
        let slot = vm.open_stream();
        let worker = vm.start_worker(slot);
        let (a, b) = (Value::new(), Value::new());
        let other = {
            let (vm, a) = (vm.clone(), a.clone());
            thread::spawn(move || submit(&vm, slot, CHEAP, &a, &a))
        };
        let ran = Arc::new(Notify::new());
        submit_kernel(vm, slot, Increment { ran: Some(ran.clone()), ..increment(QUEUED, &b, &b) }, &b, &b);
        // Nobody but the worker runs it: there is no reader to help.
        ran.wait();
        other.join().unwrap();
        vm.close_stream(slot);
        worker.join().unwrap();
    });
}

#[test]
fn a_helping_reader_leaves_the_rest_to_the_worker() {
    check(|vm| {
        let slot = vm.open_stream();
        let worker = vm.start_worker(slot);
        let (a, b) = (Value::new(), Value::new());
        submit(vm, slot, QUEUED, &a, &a);
        let ran = Arc::new(Notify::new());
        submit_kernel(vm, slot, Increment { ran: Some(ran.clone()), ..increment(QUEUED, &b, &b) }, &b, &b);
        assert_eq!(read(vm, &a), 1);
        ran.wait();
        vm.close_stream(slot);
        worker.join().unwrap();
    });
}

#[test]
fn two_streams_keep_the_order_of_their_storages() {
    check(|vm| {
        let (first, second) = (vm.open_stream(), vm.open_stream());
        let (a, b) = (Value::new(), Value::new());
        submit(vm, first, QUEUED, &a, &b);
        submit(vm, second, QUEUED, &b, &a);
        submit(vm, first, QUEUED, &a, &b);
        let reader = {
            let (vm, a) = (vm.clone(), a.clone());
            thread::spawn(move || assert_eq!(read(&vm, &a), 2))
        };
        assert_eq!(read(vm, &b), 3);
        reader.join().unwrap();
    });
}

#[test]
fn two_workers_meet_at_a_storage() {
    check(|vm| {
        let (first, second) = (vm.open_stream(), vm.open_stream());
        let (a, b) = (Value::new(), Value::new());
        submit(vm, first, QUEUED, &a, &b);
        submit(vm, second, QUEUED, &b, &b);
        let workers = [vm.start_worker(second), vm.start_worker(first)];
        vm.close_stream(first);
        vm.close_stream(second);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(read(vm, &b), 2);
    });
}

#[test]
fn a_full_queue_holds_the_caller_back() {
    check(|vm| {
        vm.set_max_queued(1);
        let slot = vm.open_stream();
        let worker = vm.start_worker(slot);
        let a = Value::new();
        (0..3).for_each(|_| submit(vm, slot, QUEUED, &a, &a));
        vm.close_stream(slot);
        worker.join().unwrap();
        assert_eq!(read(vm, &a), 3);
    });
}

#[test]
fn a_failure_reaches_the_reader() {
    check(|vm| {
        let slot = vm.open_stream();
        let worker = vm.start_worker(slot);
        let (a, b, c) = (Value::new(), Value::new(), Value::new());
        submit_kernel(vm, slot, Increment { fails: true, ..increment(QUEUED, &a, &b) }, &a, &b);
        submit(vm, slot, QUEUED, &b, &c);
        assert!(matches!(vm.read(&c.0), Err(Error::Deferred { .. })));
        vm.close_stream(slot);
        worker.join().unwrap();
        assert_eq!(c.get(), 0);
    });
}
