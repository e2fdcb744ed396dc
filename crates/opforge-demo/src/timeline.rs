//! Records what the virtual machine does while the host runs ahead of it.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use opforge::{Device, Result, Tensor};
use opforge_runtime::vm::{self, trace};

use crate::{Part, target};

/// Elements of a large tensor (16 MiB of f32), and rounds of the computation.
const ELEMENTS: usize = 1 << 22;
const ROUNDS: usize = 8;
/// Operators a round, with the one that makes the input.
const OPERATORS: usize = 6;
/// The largest part of the whole time that calling may take, even on a busy machine: the host does not wait for what it asks for, unless
/// everything is to be synchronous.
const ISSUE_PART: f64 = 0.5;

/// Asks for a few large results and does not look at them.
fn work(round: usize) -> Result<Tensor> {
    let x = Tensor::full(round as f32 * 0.25 + 0.1, ELEMENTS, &Device::Cpu)?;
    x.sqr()?.sigmoid()?.mul(&x)?.tanh()?.sum_all()
}

/// Writes the trace in Chrome's format.
pub fn record(path: &Path) -> Part {
    work(0)?.to_scalar::<f32>()?;
    trace::start();
    let start = Instant::now();
    let results: Vec<Tensor> = (0..ROUNDS).map(work).collect::<Result<_>>()?;
    let issued = start.elapsed().as_secs_f64();
    vm::synchronize()?;
    let whole = start.elapsed().as_secs_f64();
    let events = trace::stop();
    trace::write_chrome(&events, BufWriter::new(File::create(path)?))?;
    check(&results)?;
    let kernels = events.len();
    let (issued_ms, whole_ms) = (issued * 1e3, whole * 1e3);
    let figures = format!("{kernels} kernels, called in {issued_ms:.1} ms, done after {whole_ms:.0} ms");
    println!("{} shows in https://ui.perfetto.dev what ran when", path.display());
    target(kernels == ROUNDS * OPERATORS, || format!("{figures}; {} were called", ROUNDS * OPERATORS))?;
    target(vm::is_sync() || issued < whole * ISSUE_PART, || format!("{figures}; the host waited"))?;
    Ok(figures)
}

/// The results are right, to the precision of f32.
fn check(results: &[Tensor]) -> Result<()> {
    for (round, result) in results.iter().enumerate() {
        let x = round as f64 * 0.25 + 0.1;
        let wanted = (x / (1.0 + (-x * x).exp())).tanh() * ELEMENTS as f64;
        let got = f64::from(result.to_scalar::<f32>()?);
        target((got / wanted - 1.0).abs() < 1e-5, || format!("round {round} gave {got}, not {wanted}"))?;
    }
    Ok(())
}
