//! How fast an operator is, beside a copy that moves as many bytes.

use std::fmt;
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use opforge::{DType, Device, Error, Result, Tensor};
use opforge_runtime::vm;

use crate::CustomOp;
use crate::check::{self, Case, cases, tensors};

/// What to time.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sets of shapes, one for each input or one for all; none: shapes of `elements`.
    pub shapes: Vec<Vec<Vec<usize>>>,
    /// The inputs' dtypes, one for each or one for all; none: the first that the operator declares, or else float32.
    pub dtypes: Vec<DType>,
    /// Sizes where no shapes are given: powers of 2.
    pub exponents: Range<u32>,
    /// Ranks where no shapes are given: the first that the operator takes.
    pub ranks: Vec<usize>,
    /// How long each line takes, about.
    pub duration: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            shapes: Vec::new(),
            dtypes: Vec::new(),
            exponents: 2..25,
            ranks: vec![1, 2, 3],
            duration: Duration::from_millis(150),
        }
    }
}

/// A line of the table: times are the least of several samples.
#[derive(Debug, Clone)]
pub struct Line {
    /// The inputs.
    pub case: Case,
    /// Of inputs and outputs.
    pub bytes: usize,
    /// Of a call, in seconds.
    pub call: f64,
    /// Of opforge's own copy that reads and writes as many bytes, in seconds.
    pub copy: f64,
}

/// How fast an operator is. Printed, it is a table.
#[derive(Debug, Clone)]
pub struct Bench {
    /// What was timed.
    pub title: String,
    /// From small to large.
    pub lines: Vec<Line>,
}

/// Times an operator: whole calls, up to when the results can be read.
///
/// # Errors
/// What the operator refuses; where the number of inputs is not known.
///
/// ```no_run
/// # fn example(add: opforge_custom::CustomOp) -> opforge::Result<()> {
/// println!("{}", opforge_custom::bench::bench(&add, &Default::default())?);
/// # Ok(())
/// # }
/// ```
pub fn bench(op: &CustomOp, options: &Options) -> Result<Bench> {
    let lines = chosen(op, options)?.into_iter().map(|case| line(op, case, options.duration));
    Ok(Bench { title: op.title(), lines: lines.collect::<Result<_>>()? })
}

/// The cases that are timed.
fn chosen(op: &CustomOp, options: &Options) -> Result<Vec<Case>> {
    let of_shapes = |shapes: Vec<Vec<Vec<usize>>>| {
        let dtypes = Vec::from_iter((!options.dtypes.is_empty()).then(|| options.dtypes.clone()));
        let count = shapes.len();
        let mut cases = cases(op, &check::Options { shapes, dtypes, ..check::Options::default() })?;
        cases.truncate(count);
        Ok(cases)
    };
    if !options.shapes.is_empty() {
        return of_shapes(options.shapes.clone());
    }
    let mut refusal = None;
    for &rank in &options.ranks {
        let shapes = options.exponents.clone().step_by(STEP).map(|exponent| vec![shape(exponent, rank)]);
        let cases = of_shapes(shapes.collect())?;
        match cases.first().map(|case| call(op, &tensors(case)?)) {
            Some(Err(error)) => refusal = refusal.or(Some(error)),
            _ => return Ok(cases),
        }
    }
    Err(refusal.unwrap_or_else(|| Error::value(op.name(), "ranks", "none", "ranks to try")))
}

/// Between exponents.
const STEP: usize = 4;

/// A shape of 2^exponent elements, with lengths as equal as they can be.
fn shape(exponent: u32, rank: usize) -> Vec<usize> {
    let rank = rank as u32;
    (0..rank).map(|i| 1 << (exponent / rank + u32::from(i < exponent % rank))).collect()
}

fn line(op: &CustomOp, case: Case, duration: Duration) -> Result<Line> {
    let inputs = tensors(&case)?;
    let outputs = call(op, &inputs)?;
    let size = |tensor: &Tensor| tensor.elem_count() * tensor.dtype().size_in_bytes();
    let bytes = inputs.iter().chain(&outputs).map(size).sum();
    drop(outputs);
    let copied = Tensor::zeros(bytes / 2, DType::U8, &Device::Cpu)?;
    let copied = std::slice::from_ref(&copied);
    let mut call = || call(op, &inputs).map(|outputs| drop(black_box(outputs)));
    let mut copy = || copied[0].copy().and_then(|copy| finish(&[copy]));
    let (calls, copies) = (calibrate(&mut call)?, calibrate(&mut copy)?);
    let (mut least, start) = ([f64::INFINITY; 2], Instant::now());
    while start.elapsed() < duration {
        least[0] = least[0].min(sample(&mut call, calls)?);
        least[1] = least[1].min(sample(&mut copy, copies)?);
    }
    Ok(Line { case, bytes, call: least[0], copy: least[1] })
}

fn call(op: &CustomOp, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let outputs = op.apply_all(&inputs.iter().collect::<Vec<_>>())?.into_vec();
    finish(&outputs)?;
    Ok(outputs)
}

/// Waits until tensors can be read, and brings the error of what makes them.
fn finish(tensors: &[Tensor]) -> Result<()> {
    tensors.iter().try_for_each(|tensor| vm::wait_for_read(tensor.storage()))
}

/// How many calls make a sample long enough for the clock.
fn calibrate(call: &mut dyn FnMut() -> Result<()>) -> Result<u32> {
    const SAMPLE: f64 = 1e-3;
    let mut calls = 1;
    while sample(call, calls)? * f64::from(calls) < SAMPLE {
        calls *= 2;
    }
    Ok(calls)
}

/// The time of a call, in seconds.
fn sample(call: &mut dyn FnMut() -> Result<()>, calls: u32) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(calls))
}

impl fmt::Display for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        write!(f, "{:>14} {:>12} {:>8} {:>12} {:>13}  inputs", "bytes", "ns", "GB/s", "copy, ns", "of the floor")?;
        for Line { case, bytes, call, copy } in &self.lines {
            let (ns, copy_ns, speed) = (call * 1e9, copy * 1e9, *bytes as f64 / call / 1e9);
            let part = 100.0 * copy / call;
            write!(f, "\n{bytes:>14} {ns:>12.0} {speed:>8.2} {copy_ns:>12.0} {part:>11.0} %  {case}")?;
        }
        Ok(())
    }
}
