//! A driver for machines without a GPU: see `driver.cpp`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

/// What the libraries are made of, and their names.
const LIBRARIES: [(&str, &[&str]); 3] = [
    ("driver.cpp", &["libcuda.so.1", "libnvrtc.so.13"]),
    ("blas.cpp", &["libcublas.so.13", "libcublasLt.so.13"]),
    ("dnn.cpp", &["libcudnn.so.9", "libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_cnn.so.9"]),
];

/// The driver's folder, with what it compiles kernels with.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host_driver");
    for name in ["device.h", "launch.h", "warp.h"] {
        fs::copy(own.join(name), folder.path().join(name)).expect("a copy");
    }
    for (source, libraries) in LIBRARIES {
        let first = folder.path().join(libraries[0]);
        let mut compiler = Command::new("g++");
        // Fortified, a fiber's `longjmp` would be taken for a broken stack.
        compiler
            .args(["-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
            .arg(&first);
        assert!(compiler.arg(own.join(source)).arg("-ldl").status().expect("g++").success());
        for name in &libraries[1..] {
            fs::copy(&first, folder.path().join(name)).expect("a copy");
        }
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

/// What a function of a library counts, for tests; none on a GPU.
#[allow(dead_code)]
pub fn counted(library: &str, function: &str) -> Option<i32> {
    if Path::new("/proc/driver/nvidia/version").exists() {
        return None;
    }
    // SAFETY: the library has this function, which takes nothing and gives a number; it is open already.
    unsafe {
        let library = libloading::Library::new(folder().join(library)).expect("the library");
        let count: libloading::Symbol<'_, unsafe extern "C" fn() -> i32> =
            library.get(function.as_bytes()).expect("a function");
        Some(count())
    }
}

/// How many products the host's cuBLAS has made; none on a GPU.
#[allow(dead_code)]
pub fn products() -> Option<i32> {
    counted("libcublas.so.13", "opforge_host_products")
}
