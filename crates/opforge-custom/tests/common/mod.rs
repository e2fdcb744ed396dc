//! Operators from `tests/kernels`, compiled once for all tests, and the texts of errors.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

use opforge::{Device, Result, Tensor};
use opforge_custom::CustomOp;
use opforge_custom::source::{Options, locate};

pub const CPU: &Device = &Device::Cpu;

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

/// How the tests compile.
pub fn options(flags: &[&str]) -> Options {
    Options {
        flags: flags.iter().map(ToString::to_string).collect(),
        cache: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels")),
        ..Options::default()
    }
}

/// As [`options`], against headers that are laid out as MindSpore's.
pub fn foreign(flags: &[&str]) -> Options {
    Options { include: vec![kernels().join("mindspore")], ..options(flags) }
}

/// The library that a file in `tests/kernels` is compiled to.
pub fn library(file: &str) -> PathBuf {
    compile(file, &options(&[])).unwrap()
}

pub fn compile(file: &str, options: &Options) -> Result<PathBuf> {
    locate(&kernels().join(file), options).map(|artifact| artifact.file)
}

/// The operator `function` of a file in `tests/kernels`.
pub fn op(file: &str, function: &str) -> CustomOp {
    op_with(file, function, &options(&[]))
}

pub fn op_with(file: &str, function: &str, options: &Options) -> CustomOp {
    CustomOp::open(&compile(file, options).unwrap(), function).unwrap()
}

pub fn vector(values: &[f32]) -> Tensor {
    Tensor::new(values, CPU).unwrap()
}

/// The error's text, once it names all of these.
#[track_caller]
pub fn error<T>(result: Result<T>, parts: &[&str]) -> String {
    let text = result.err().expect("an error").to_string();
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is not in {text:?}"));
    text
}

/// The text of the error of a call, which may come when its outputs are read.
#[track_caller]
pub fn fails(op: &CustomOp, inputs: &[&Tensor], parts: &[&str]) -> String {
    let outputs = op.apply_all(inputs);
    error(outputs.and_then(|outputs| outputs.iter().try_for_each(|output| output.to_scalars().map(drop))), parts)
}
