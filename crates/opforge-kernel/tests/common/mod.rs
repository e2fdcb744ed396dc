#![allow(dead_code)]

use std::path::PathBuf;

use opforge::{Device, Tensor};
use opforge_custom::CustomOp;

pub const CPU: &Device = &Device::Cpu;

/// The library that `examples/kernels.rs` is built to, beside the tests.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    let file = format!("{}kernels{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = target.join("examples").join(file);
    assert!(library.exists(), "{} is missing: `cargo test` or `cargo build --examples` makes it", library.display());
    library
}

pub fn kernel(name: &str) -> CustomOp {
    CustomOp::open(&library(), name).unwrap()
}

pub fn vector(values: &[f32]) -> Tensor {
    Tensor::new(values, CPU).unwrap()
}

/// The error's text, once it names all of these.
#[track_caller]
pub fn error<T>(result: opforge::Result<T>, parts: &[&str]) -> String {
    let text = result.err().expect("an error").to_string();
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is not in {text:?}"));
    text
}

/// The text of the error of a call, which may come when outputs are read.
#[track_caller]
pub fn fails(op: &CustomOp, inputs: &[&Tensor], parts: &[&str]) -> String {
    let outputs = op.apply_all(inputs);
    error(outputs.and_then(|outputs| outputs.iter().try_for_each(|output| output.to_scalars().map(drop))), parts)
}
