//! Kernels to check.

use std::path::Path;

use opforge_custom::CustomOp;
use opforge_custom::source::Options;

/// The operator in a source file of `tests/kernels`.
pub fn kernel(file: &str, function: &str) -> CustomOp {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels").join(file);
    let options = Options { cache: Some(env!("CARGO_TARGET_TMPDIR").into()), ..Options::default() };
    CustomOp::load_with(&format!("{}:{function}", path.display()), &options).unwrap()
}
