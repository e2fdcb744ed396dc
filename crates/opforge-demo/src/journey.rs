//! Follows one call through the layers.

use std::time::Instant;

use opforge::dispatch::journey::{self, Step};
use opforge::{Device, Error, Result, Tensor, Var};
use opforge_runtime::vm::trace;

use crate::{Part, target};

/// Calls recorded, of which the fastest is shown.
const RECORDED: usize = 200;
/// Calls in a timing, and timings of which the best counts.
const CALLS: u32 = 10_000;
const ROUNDS: usize = 20;
/// The most that a whole small call may take, in nanoseconds: more than a busy machine needs, far less than a wrong path would take.
const LIMIT: f64 = 2000.0;

/// A line of the table.
struct Row {
    layer: String,
    decision: String,
    ns: u64,
}

/// Each layer's time is from the one before to its own decision; the kernel's comes from the VM's trace and is part of the VM's.
fn rows(steps: &[Step], kernel: u64) -> Vec<Row> {
    let mut before = 0;
    let mut rows: Vec<Row> = Vec::new();
    for step in steps {
        rows.push(Row { layer: step.layer.into(), decision: step.decision.clone(), ns: step.at_ns - before });
        before = step.at_ns;
        if step.layer == "vm" {
            rows.push(Row {
                layer: "  kernel".into(),
                decision: "ran on the calling thread, within the vm's time".into(),
                ns: kernel,
            });
        }
    }
    rows
}

fn print_table(rows: &[Row]) {
    const TEXT: usize = 56;
    println!("  {:<10}  {:<TEXT$}  {:>6}", "layer", "decision", "ns");
    println!("  {:-<10}  {:-<TEXT$}  {:->6}", "", "", "");
    for Row { layer, decision, ns } in rows {
        let mut text = decision.clone();
        if text.chars().count() > TEXT {
            text = text.chars().take(TEXT - 1).chain(['…']).collect();
        }
        println!("  {layer:<10}  {text:<TEXT$}  {ns:>6}");
    }
}

/// Nanoseconds of a call by itself: the best round's mean.
fn time(call: impl Fn() -> Result<Tensor>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            call()?;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    Ok(best)
}

/// The steps of one recorded call and the nanoseconds of its kernel, as the VM traced it.
struct Journey {
    steps: Vec<Step>,
    kernel: u64,
}

fn record(x: &Var) -> Result<Journey> {
    trace::start();
    let (result, steps) = journey::record(|| x.relu());
    let events = trace::stop();
    let kernel = events.iter().find(|event| event.op == "relu").map(|event| event.end - event.start);
    let kernel = kernel.ok_or_else(|| Error::msg("the kernel is not in the VM's trace"))?;
    result.map(|_| Journey { steps, kernel })
}

/// Shows the way of a small `relu` that is recorded for backward.
pub fn follow() -> Part {
    let x = Var::new(&[-1f32, 0.5, -2.0, 3.0], &Device::Cpu)?;
    let all: Vec<Journey> = (0..RECORDED).map(|_| record(&x)).collect::<Result<_>>()?;
    let end = |journey: &&Journey| journey.steps.last().map(|step| step.at_ns);
    let Journey { steps, kernel } = all.iter().min_by_key(end).ok_or_else(|| Error::msg("nothing was recorded"))?;
    println!("relu of four numbers that need a gradient (times include writing this down):");
    print_table(&rows(steps, *kernel));
    let recorded = time(|| x.relu())?;
    let plain = x.as_detached_tensor();
    let plain = time(|| plain.relu())?;
    let figures = format!("{} layers; a whole call takes {plain:.0} ns, with autograd {recorded:.0} ns", steps.len());
    for layer in ["dispatch", "infer", "outputs", "vm", "autograd"] {
        target(steps.iter().any(|step| step.layer == layer), || format!("the layer {layer} was not passed"))?;
    }
    let result = x.relu()?.to_vec1::<f32>()?;
    target(result == [0.0, 0.5, 0.0, 3.0], || format!("relu gave {result:?}"))?;
    target(plain < LIMIT, || format!("{figures}; the target is {LIMIT} ns"))?;
    Ok(figures)
}
