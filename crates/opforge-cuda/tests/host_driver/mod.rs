//! A driver for machines without a GPU: see `driver.cpp`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

/// The driver's folder, with what it compiles kernels with.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host_driver");
    for name in ["device.h", "launch.h"] {
        fs::copy(own.join(name), folder.path().join(name)).expect("a copy");
    }
    let driver = folder.path().join("libcuda.so.1");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]).arg(&driver);
    assert!(compiler.arg(own.join("driver.cpp")).arg("-ldl").status().expect("g++").success());
    for name in ["libnvrtc.so.13", "libcublas.so.13"] {
        fs::copy(&driver, folder.path().join(name)).expect("a copy");
    }
    // What it compiles is for nobody else.
    // SAFETY: tests begin with this, in one thread after the other, and nothing reads the environment before.
    unsafe { std::env::set_var("OPFORGE_CUDA_CACHE", "") };
    folder
});

/// The folder of the libraries.
#[allow(dead_code)]
pub fn folder() -> &'static Path {
    FOLDER.path()
}

/// Has the driver found where the machine has none.
pub fn install() {
    if !Path::new("/proc/driver/nvidia/version").exists() {
        opforge_cuda::search_in([FOLDER.path().to_owned()]);
    }
}
