//! What is inside a program: which calls are one kernel, why others are not, how long kernels take, and how near they come to what the machine can do.

use std::fmt::{self, Display};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use opforge::fusion::Obstacle;
use opforge::{DType, Device, Result, Tensor, no_grad};
use opforge_runtime::vm;

use crate::memory::Lifetime;
use crate::program::Program;

/// One kernel of a program.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The calls that it carries out, as text: the operator's name and its result.
    pub calls: Vec<String>,
    /// What it reads and writes in memory, in bytes.
    pub bytes: usize,
    /// The multiplications and additions of its products.
    pub flops: usize,
    /// Why the call after it is not part of it; none after the last.
    pub apart: Option<Apart>,
}

/// Why a call is not carried out together with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// The call is not made of single elements or of rows: a convolution or a gather, for example.
    Whole(&'static str),
    /// The call before it is such.
    AfterWhole(&'static str),
    /// It does not go together with those before it.
    Obstacle(&'static str, Obstacle),
    /// The device makes no kernel of it together with those before it: its results have another shape, or there are too many tensors, or it computes what
    /// the device does not join.
    Device(&'static str),
    /// The call after it, or it itself, is no kernel.
    Function(&'static str),
    /// Programs were not to be made of several calls.
    Off,
}

impl Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Apart::Whole(op) => write!(f, "{op} is not computed by single elements or rows"),
            Apart::AfterWhole(op) => write!(f, "{op}, before it, is not computed by single elements or rows"),
            Apart::Obstacle(op, obstacle) => write!(f, "{op}: {obstacle}"),
            Apart::Device(op) => {
                write!(f, "{op} has results of another shape, or the device does not join it with the calls before it")
            }
            Apart::Function(op) => write!(f, "{op} is a function, which the calling thread runs"),
            Apart::Off => write!(f, "fusion was turned off"),
        }
    }
}

/// Memory that passes something between kernels.
#[derive(Debug, Clone, Copy)]
pub struct Passing {
    /// Where it begins in the program's piece of memory, in bytes.
    pub offset: usize,
    /// How large it is, and from which kernel to which it is needed.
    pub life: Lifetime,
}

/// What a device can do, as two operators show it.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes a second, of a copy that no cache holds.
    pub bytes: f64,
    /// Multiplications and additions of f32 a second, of a product that fits a cache.
    pub flops: f64,
}

impl Limits {
    /// Measured once a process and device, which takes some 0.1 s.
    ///
    /// # Errors
    /// Memory that cannot be had.
    pub fn measured(device: Device) -> Result<Limits> {
        static LIMITS: Mutex<Vec<(Device, Limits)>> = Mutex::new(Vec::new());
        let known = || LIMITS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, limits)) = known().iter().find(|(of, _)| *of == device) {
            return Ok(*limits);
        }
        let (copied, n) = (Tensor::zeros(8 << 20, DType::F32, &device)?, 384);
        let square = Tensor::ones((n, n), DType::F32, &device)?;
        let limits = no_grad(|| -> Result<Limits> {
            let copy = best(|| copied.copy())?;
            let product = best(|| square.matmul(&square))?;
            Ok(Limits { bytes: (64 << 20) as f64 / copy, flops: 2.0 * (n * n * n) as f64 / product })
        })?;
        known().push((device, limits));
        Ok(limits)
    }

    /// The seconds that a kernel takes at least.
    pub fn floor(&self, stage: &Stage) -> f64 {
        (stage.bytes as f64 / self.bytes).max(stage.flops as f64 / self.flops)
    }
}

/// The seconds of the fastest of some calls.
fn best(call: impl Fn() -> Result<Tensor>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..6 {
        vm::synchronize()?;
        let start = Instant::now();
        let held = call()?;
        vm::synchronize()?;
        best = best.min(start.elapsed().as_secs_f64());
        drop(held);
    }
    Ok(best)
}

/// How long each kernel of a program takes.
pub struct Timings<'a> {
    program: &'a Program,
    limits: Limits,
    /// Medians, of some runs.
    times: Vec<Duration>,
}

impl Program {
    /// How long each kernel takes: the medians of so many runs, at least one. They change what the program changes.
    ///
    /// # Errors
    /// Those of [`Program::run`].
    pub fn measure(&self, arguments: &[&Tensor], runs: usize) -> Result<Timings<'_>> {
        let limits = Limits::measured(self.device())?;
        let mut all = vec![Vec::new(); self.stages().len()];
        for _ in 0..runs.max(1) {
            let times = self.timed(|| self.run(arguments).and_then(|_| vm::synchronize()))?;
            all.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
        }
        let median = |mut times: Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        Ok(Timings { program: self, limits, times: all.into_iter().map(median).collect() })
    }

    /// The kernels and why they are several, as text.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for (number, stage) in self.stages().iter().enumerate() {
            text += &format!("kernel {number}: {}\n", summary(stage));
            text.extend(stage.calls.iter().map(|call| format!("    {call}\n")));
            text.extend(stage.apart.iter().map(|apart| format!("  then another, for {apart}\n")));
        }
        text + &format!("{} between kernels\n", bytes(self.memory()))
    }
}

/// How many calls and bytes.
pub(crate) fn summary(stage: &Stage) -> String {
    let calls = if stage.calls.len() == 1 { "call" } else { "calls" };
    format!("{} {calls}, {}", stage.calls.len(), bytes(stage.bytes))
}

/// A number of bytes in the unit that suits it.
pub(crate) fn bytes(count: usize) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{:.1} KB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

impl Timings<'_> {
    /// The kernels' times.
    pub fn times(&self) -> &[Duration] {
        &self.times
    }
}

impl Display for Timings<'_> {
    /// A table: for each kernel its time, its share of all, its bytes, and which part of its time the machine would need at least. Where caches hold what
    /// it reads that is more than all of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: f64 = self.times.iter().map(Duration::as_secs_f64).sum();
        writeln!(f, "{:>6}  {:>12}  {:>6}  {:>12}  {:>6}  calls", "kernel", "time", "share", "memory", "floor")?;
        for (number, (stage, time)) in self.program.stages().iter().zip(&self.times).enumerate() {
            let seconds = time.as_secs_f64();
            let percent = |part: f64, whole: f64| format!("{:.0} %", 100.0 * part / whole.max(1e-9));
            let (share, floor) = (percent(seconds, all), percent(self.limits.floor(stage), seconds));
            let (time, memory) = (format!("{:.1} us", seconds * 1e6), bytes(stage.bytes));
            writeln!(f, "{number:>6}  {time:>12}  {share:>6}  {memory:>12}  {floor:>6}  {}", stage.calls.join("; "))?;
        }
        writeln!(f, "{:>6}  {:>12}", "all", format!("{:.1} us", all * 1e6))
    }
}
