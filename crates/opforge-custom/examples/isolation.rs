//! What isolation costs: starting the process, and calls of small and large tensors, next to the same in this process.
//! `cargo run --release -p opforge-custom --example isolation`

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use opforge::{DType, Device, Result, Tensor};
use opforge_custom::CustomOp;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("add.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/add.cc");
    let built = Command::new("c++").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).status()?;
    assert!(built.success(), "the kernel cannot be compiled");

    let opened = median(20, || CustomOp::open_isolated(&library, "Add", None).map(drop));
    let start = Instant::now();
    let isolated = CustomOp::open_isolated(&library, "Add", None)?;
    println!("start of a process, library opened   {:>10.1?}", start.elapsed());
    println!("the same and its end, median of 20   {opened:>10.1?}");
    let here = CustomOp::open(&library, "Add")?;
    let like = |op: CustomOp| op.shapes(opforge_custom::ShapeRule::Like(0));
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
