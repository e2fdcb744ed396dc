//! Kernels to check.

use std::path::Path;

use opforge_custom::CustomOp;
use opforge_custom::source::{Options, locate};

/// The operator in a source file of `tests/kernels`.
pub fn kernel(file: &str, function: &str) -> CustomOp {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels").join(file);
    let options = Options { cache: Some(env!("CARGO_TARGET_TMPDIR").into()), ..Options::default() };
    let library = locate(&path, &options).unwrap().file;
    CustomOp::open(&library, function).unwrap()
}

/// The operator in the file of its name, in snake case, among the defects.
pub fn defect(function: &str) -> CustomOp {
    kernel(&format!("defects/{}.cc", snake(function)), function)
}

fn snake(name: &str) -> String {
    let letter = |(i, c): (usize, char)| {
        let underscore = if i > 0 && c.is_uppercase() { "_" } else { "" };
        format!("{underscore}{}", c.to_lowercase())
    };
    name.chars().enumerate().map(letter).collect()
}
