//! Kernels over u64 and a shorthand for submitting them.
#![allow(dead_code)]

use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opforge_runtime::vm::{self, Call, Content};
use opforge_runtime::{Argument, Device, HostKernel, Kernel, Storage};

pub use opforge_core::Result;

/// A cost beyond which kernels are queued.
pub const QUEUED: u64 = 100_000_000;
/// A cost at which kernels may run on the caller.
pub const CHEAP: u64 = 10;

/// A kernel made of a closure over the first u64 of each buffer.
struct Closure<F>(F, u64);

impl<F: Fn(&[u64], &mut u64) -> Result<()> + Send + Sync + 'static> HostKernel for Closure<F> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: all tests use storages of at least 8 bytes from the allocator.
        let inputs: Vec<u64> = inputs.iter().map(|data| unsafe { data.cast::<u64>().read() }).collect();
        // SAFETY: all tests use storages of at least 8 bytes from the allocator, and outputs that are no inputs.
        let out = unsafe { &mut *outputs[0].cast::<u64>() };
        (self.0)(&inputs, out)
    }
    fn cost(&self) -> u64 {
        self.1
    }
}

pub fn kernel(cost: u64, f: impl Fn(&[u64], &mut u64) -> Result<()> + Send + Sync + 'static) -> Arc<dyn Kernel> {
    Arc::new(Closure(f, cost))
}

pub fn storage() -> Arc<Storage> {
    Storage::new(Device::Cpu, 8).unwrap()
}

pub fn storage_of(value: u64) -> Arc<Storage> {
    Storage::from_bytes(&value.to_ne_bytes()).unwrap()
}

#[track_caller]
pub fn submit(
    op: &'static str,
    kernel: &Arc<dyn Kernel>,
    inputs: &[&Arc<Storage>],
    output: &Arc<Storage>,
) -> Result<()> {
    submit_to(op, kernel, inputs, (output, Content::New))
}

#[track_caller]
pub fn submit_to(
    op: &'static str,
    kernel: &Arc<dyn Kernel>,
    inputs: &[&Arc<Storage>],
    (output, content): (&Arc<Storage>, Content),
) -> Result<()> {
    let inputs: Vec<Argument> = inputs.iter().map(|storage| Argument::new(storage, 0)).collect();
    let (op, at, outputs) = (Cow::Borrowed(op), Location::caller(), [Argument::new(output, 0)]);
    // SAFETY: `kernel` reads and writes 8 bytes of each storage.
    unsafe { vm::submit(&Call { op: &op, at, kernel, part: None, inputs: &inputs, outputs: &outputs, content }) }
}

pub fn value(storage: &Storage) -> Result<u64> {
    Ok(u64::from_ne_bytes(vm::read(storage)?[..8].try_into().unwrap()))
}

/// Holds kernels back until it is opened.
#[derive(Clone, Default)]
pub struct Gate(Arc<AtomicBool>);

impl Gate {
    pub fn open(&self) {
        self.0.store(true, Ordering::Release);
    }
    pub fn close(&self) {
        self.0.store(false, Ordering::Release);
    }
    pub fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
    pub fn pass(&self) {
        wait_until(|| self.is_open());
    }
    /// A queued kernel that stores the sum of its inputs plus `add` when the gate is open.
    pub fn sum(&self, add: u64) -> Arc<dyn Kernel> {
        let gate = self.clone();
        kernel(QUEUED, move |inputs, out| {
            gate.pass();
            *out = inputs.iter().sum::<u64>() + add;
            Ok(())
        })
    }
}

/// A kernel that stores the sum of its inputs plus `add`.
pub fn sum(cost: u64, add: u64) -> Arc<dyn Kernel> {
    kernel(cost, move |inputs, out| {
        *out = inputs.iter().sum::<u64>() + add;
        Ok(())
    })
}

#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited for too long");
        std::thread::yield_now();
    }
}
