//! Prints what the runtime itself costs: `cargo run --release -p opforge-runtime --example overhead`.

use std::borrow::Cow;
use std::hint::black_box;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opforge_core::Result;
use opforge_runtime::parallel::{num_threads, parallel_for};
use opforge_runtime::vm::{self, Call, Content, Stream, with_stream};
use opforge_runtime::{Argument, Device, HostKernel, Kernel, Storage};

/// Adds one to a f32, in one nanosecond or so.
struct Increment {
    cost: u64,
}

impl HostKernel for Increment {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: one f32 in each buffer.
        unsafe { outputs[0].cast::<f32>().write(inputs[0].cast::<f32>().read() + 1.0) };
        Ok(())
    }
    fn cost(&self) -> u64 {
        self.cost
    }
}

/// Fills 32 MiB with ones, on all cores.
struct Fill;

const LARGE: usize = 32 << 20;

impl HostKernel for Fill {
    unsafe fn run(&self, _: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let out = outputs[0].expose_provenance();
        let out = |offset: usize| std::ptr::with_exposed_provenance_mut::<u8>(out + offset);
        // SAFETY: the output holds `LARGE` bytes, and ranges are disjoint.
        parallel_for(LARGE, 1 << 18, |range| unsafe { out(range.start).write_bytes(1, range.len()) });
        Ok(())
    }
    fn cost(&self) -> u64 {
        100_000_000
    }
}

/// The least time per call over several rounds of `calls` calls, in nanoseconds.
fn measure(calls: u32, mut f: impl FnMut()) -> f64 {
    let round = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    (0..20).map(|_| round(&mut f)).fold(f64::INFINITY, f64::min)
}

fn show(what: &str, nanoseconds: f64) {
    println!("{what:<58} {nanoseconds:9.1} ns");
}

fn submit(kernel: &Arc<dyn Kernel>, input: &Arc<Storage>, output: &Arc<Storage>) -> Result<()> {
    let (inputs, outputs) = (&[Argument::new(input, 0)], &[Argument::new(output, 0)]);
    let (op, at) = (Cow::Borrowed("increment"), Location::caller());
    // SAFETY: both storages hold a f32, which is what the kernel takes.
    unsafe { vm::submit(&Call { op: &op, at, kernel, part: None, inputs, outputs, content: Content::New }) }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// How long a second thread takes to start on a loop, a while after the last loop.
fn wake_latency(rest: Duration) -> f64 {
    let sample = || {
        if !rest.is_zero() {
            std::thread::sleep(rest);
        }
        let caller = std::thread::current().id();
        let start = Instant::now();
        let joined = std::sync::OnceLock::new();
        parallel_for(2, 1, |_| {
            if std::thread::current().id() != caller {
                let _ = joined.set(start.elapsed());
            }
            while joined.get().is_none() {
                std::hint::spin_loop();
            }
        });
        joined.get().map_or(f64::NAN, |latency| latency.as_nanos() as f64)
    };
    median((0..200).map(|_| sample()).collect())
}

fn main() -> Result<()> {
    let alone: Arc<dyn HostKernel> = Arc::new(Increment { cost: 10 });
    let cheap: Arc<dyn Kernel> = alone.clone();
    let costly: Arc<dyn Kernel> = Arc::new(Increment { cost: u64::MAX });
    let (a, b) = (Storage::from_bytes(&[0; 16])?, Storage::from_bytes(&[0; 16])?);

    let (input, output) = ([a.data()?.as_ptr().cast_const()], [b.data()?.as_ptr()]);
    // SAFETY: both storages hold a f32.
    let bare =
        measure(100_000, || unsafe { black_box(&alone).run(black_box(&input), black_box(&output)) }.unwrap_or(()));
    show("kernel alone", bare);
    let inline = measure(100_000, || submit(black_box(&cheap), &a, &b).unwrap_or(()));
    show("inline submit, over the kernel", inline - bare);

    show(
        "new storage and drop, memory not reserved",
        measure(100_000, || drop(black_box(Storage::new(Device::Cpu, 16)))),
    );
    let reserved = measure(100_000, || drop(black_box(Storage::new(Device::Cpu, 16).and_then(|s| s.data()))));
    show("new storage, small block reserved, drop", reserved);
    let call = measure(100_000, || {
        let _ = black_box(Storage::new(Device::Cpu, 16).and_then(|out| submit(&cheap, &a, &out)));
    });
    show("new storage, inline submit, drop", call);
    let large = measure(100_000, || drop(black_box(Storage::new(Device::Cpu, 32 << 20).map(|s| s.is_reserved()))));
    show("new storage of 32 MiB, not reserved, drop", large);

    let stream = Stream::new();
    let mut enqueue = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        with_stream(&stream, || (0..500).try_for_each(|_| submit(&costly, &a, &b)))?;
        enqueue.push(start.elapsed().as_nanos() as f64 / 500.0);
        stream.synchronize()?;
    }
    show("enqueue, 500 in a row", median(enqueue));
    let mut round_trip = Vec::new();
    for _ in 0..2000 {
        let start = Instant::now();
        submit(&costly, &a, &b)?;
        drop(vm::read(&b)?);
        round_trip.push(start.elapsed().as_nanos() as f64);
    }
    show("enqueue one and read its output", median(round_trip));
    show("host read of what is ready", measure(100_000, || drop(black_box(vm::read(&b)))));

    let fill: Arc<dyn Kernel> = Arc::new(Fill);
    let fill_new = || {
        let _ = Storage::new(Device::Cpu, LARGE)
            .and_then(|out| submit(&fill, &a, &out).and_then(|()| vm::read(&out).map(drop)));
    };
    let time = measure(20, fill_new);
    show("fill a new 32 MiB, read it, drop it", time);
    println!("{:<58} {:9.1} GB/s", "", LARGE as f64 / time);

    if num_threads() > 1 {
        show("parallel_for: second thread starts, helpers spinning", wake_latency(Duration::ZERO));
        show("parallel_for: second thread starts, helpers asleep", wake_latency(Duration::from_millis(1)));
        show("parallel_for: two empty ranges", measure(10_000, || parallel_for(2, 1, |r| _ = black_box(r))));
    }
    show("parallel_for: one range", measure(100_000, || parallel_for(1, 1, |r| _ = black_box(r))));
    Ok(())
}
