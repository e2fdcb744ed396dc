//! What a call of a custom operator costs apart from its arithmetic, beside a built-in operator's.
//!
//! `cargo build --release -p opforge-kernel --example kernels && cargo run --release -p opforge-custom --example calls`

use std::hint::black_box;
use std::time::Instant;

use opforge::{Device, Result, Tensor, Var};
use opforge_custom::{CustomOp, ShapeRule};

fn main() -> Result<()> {
    let cpu = &Device::Cpu;
    let (x, y) = (Tensor::new(&[1f32, 2.0, 3.0, 4.0], cpu)?, Tensor::new(&[5f32, 6.0, 7.0, 8.0], cpu)?);
    let recorded = Var::new(&[1f32, 2.0, 3.0, 4.0], cpu)?;
    let add = kernel("add.cc:Add")?.shapes(ShapeRule::Like(0));
    let differentiable = add.clone().gradient_by(|ctx| Ok(vec![Some(ctx.grads[0].clone()); 2]))?;
    let increment = kernel("in_place.cc:Increment")?.with_schema("(Tensor(a!) x) -> Tensor(a!)")?;

    report("x.add(&y), built in", || x.add(&y).map(drop))?;
    report("C++ add", || add.apply(&[&x, &y]).map(drop))?;
    report("C++ add, recorded for a gradient", || differentiable.apply(&[&recorded, &y]).map(drop))?;
    report("C++ increment, in place", || increment.apply(&[&x]).map(drop))?;
    match rust_kernels() {
        Some(library) => {
            let add = CustomOp::load(&format!("{library}:add"))?;
            report("Rust add", || add.apply(&[&x, &y]).map(drop))
        }
        None => {
            println!("Rust add: build the kernels first");
            Ok(())
        }
    }
}

fn kernel(source: &str) -> Result<CustomOp> {
    CustomOp::load(&format!("{}/tests/kernels/{source}", env!("CARGO_MANIFEST_DIR")))
}

/// The example library of opforge-kernel, which Cargo puts beside this program.
fn rust_kernels() -> Option<String> {
    let library = std::env::current_exe().ok()?.with_file_name("libkernels.so");
    library.is_file().then(|| library.display().to_string())
}

/// Prints the least time of a call over several rounds.
fn report(name: &str, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    const CALLS: usize = 20_000;
    let mut least = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call()?);
        }
        least = least.min(start.elapsed().as_nanos() as f64 / CALLS as f64);
    }
    println!("{name:34}{least:>8.0} ns");
    Ok(())
}
