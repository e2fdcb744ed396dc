//! Compiles the C++ side of the kernels' binary interface, its `extra` once for each ABI of `std::string` that the platform has; and the
//! worker, a program in which kernels run isolated, which becomes a part of this crate.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=native");
    println!("cargo:rerun-if-changed=include");
    println!("cargo:rustc-check-cfg=cfg(two_string_abis)");
    let two_abis = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    let mut libraries = vec![compile("bridge", "native/bridge.cc", &[])];
    let new = [("OPFORGE_NAMESPACE", "opforge_current"), ("OPFORGE_EXTRA_NEW", "opforge_extra_new")];
    if two_abis {
        println!("cargo:rustc-cfg=two_string_abis");
        let old = [("OPFORGE_NAMESPACE", "opforge_old"), ("OPFORGE_EXTRA_NEW", "opforge_extra_new_old")];
        libraries.push(compile("extra", "native/extra.cc", &[&new[..], &[("_GLIBCXX_USE_CXX11_ABI", "1")]].concat()));
        libraries.push(compile(
            "extra_old",
            "native/extra.cc",
            &[&old[..], &[("_GLIBCXX_USE_CXX11_ABI", "0")]].concat(),
        ));
    } else {
        libraries.push(compile("extra", "native/extra.cc", &new));
    }
    link_worker(two_abis, &libraries);
}

fn cpp() -> cc::Build {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(2).warnings(true).extra_warnings(true).include("include").include("native");
    build
}

/// Compiles a file into a library, and gives its path.
fn compile(name: &str, file: &str, defines: &[(&str, &str)]) -> PathBuf {
    let mut build = cpp();
    for (define, value) in defines {
        build.define(define, *value);
    }
    build.file(file).compile(&format!("opforge_{name}"));
    out_dir().join(format!("libopforge_{name}.a"))
}

fn link_worker(two_abis: bool, libraries: &[PathBuf]) {
    let mut build = cpp();
    if two_abis {
        build.define("OPFORGE_TWO_STRING_ABIS", None);
    }
    let folder = Path::new("native/worker");
    let sources = ["allocate", "confine", "fault", "instance", "memory", "runs", "server", "wire", "worker"]
        .map(|name| folder.join(name).with_extension("cc"));
    let objects = build.files(sources).compile_intermediates();
    let mut link = build.get_compiler().to_command();
    link.args(objects).args(libraries).args(["-pthread", "-s", "-o"]).arg(out_dir().join("opforge-worker"));
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        link.arg("-ldl");
    }
    let status = link.status().expect("the C++ compiler can be run");
    assert!(status.success(), "{link:?} failed");
}

fn out_dir() -> PathBuf {
    std::env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR").into()
}
