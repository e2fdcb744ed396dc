//! What the tests of libraries share.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A library compiled from a file of `kernels`; the folder goes when this does.
pub struct Library {
    pub file: PathBuf,
    _folder: TempDir,
}

impl Library {
    pub fn compile(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name).with_extension("so");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = here.join("tests/kernels").join(name).with_extension("cc");
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-O1", "-shared", "-fPIC", "-I"]).arg(here.join("include")).arg("-o").arg(&file);
        assert!(compiler.arg(source).status().unwrap().success());
        Library { file, _folder: folder }
    }
}
