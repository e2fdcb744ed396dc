//! What isolation costs: starting the process, and calls of small and large tensors, next to the same in this process.
//! `cargo run --release -p opforge-custom --example isolation`

use std::time::{Duration, Instant};

use opforge::{DType, Device, Result, Tensor};
use opforge_custom::source::Options;
use opforge_custom::{CustomOp, ShapeRule};

fn main() -> Result<()> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/add.cc:Add");
    let options = Options::default();
    let here = CustomOp::load(source)?;
    let opened = median(20, || CustomOp::load_isolated(source, &options, None).map(drop));
    println!("a process from load to end           {opened:>10.1?}");
    let isolated = CustomOp::load_isolated(source, &options, None)?;
    let like = |op: CustomOp| op.shapes(ShapeRule::Like(0));
    for (name, op) in [("in this process", like(here)), ("isolated", like(isolated))] {
        for count in [4, 1 << 20, 25 << 20] {
            let x = Tensor::zeros(count, DType::F32, &Device::Cpu)?;
            let calls = if count == 4 { 20_000 } else { 20 };
            let took = median(calls, || op.apply(&[&x, &x])?.narrow(0, 0, 1)?.to_vec1::<f32>().map(drop));
            println!("{name:<16} {count:>9} floats        {took:>10.1?}");
        }
    }
    Ok(())
}

fn median(times: usize, mut f: impl FnMut() -> Result<()>) -> Duration {
    let mut took: Vec<Duration> = (0..times)
        .map(|_| {
            let start = Instant::now();
            f().expect("the call works");
            start.elapsed()
        })
        .collect();
    took.sort();
    took[times / 2]
}
