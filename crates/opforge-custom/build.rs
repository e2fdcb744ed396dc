//! Compiles the C++ side of the kernels' binary interface: its `extra` once for each ABI of `std::string` that the platform has.

fn main() {
    println!("cargo:rerun-if-changed=native");
    println!("cargo:rerun-if-changed=include");
    println!("cargo:rustc-check-cfg=cfg(two_string_abis)");
    let two_abis = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    compile("bridge", "native/bridge.cc", &[]);
    let new = [("OPFORGE_NAMESPACE", "opforge_current"), ("OPFORGE_EXTRA_NEW", "opforge_extra_new")];
    if two_abis {
        println!("cargo:rustc-cfg=two_string_abis");
        let old = [("OPFORGE_NAMESPACE", "opforge_old"), ("OPFORGE_EXTRA_NEW", "opforge_extra_new_old")];
        compile("extra", "native/extra.cc", &[&new[..], &[("_GLIBCXX_USE_CXX11_ABI", "1")]].concat());
        compile("extra_old", "native/extra.cc", &[&old[..], &[("_GLIBCXX_USE_CXX11_ABI", "0")]].concat());
    } else {
        compile("extra", "native/extra.cc", &new);
    }
}

fn compile(name: &str, file: &str, defines: &[(&str, &str)]) {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(2).warnings(true).extra_warnings(true).include("include").include("native");
    for (define, value) in defines {
        build.define(define, *value);
    }
    build.file(file).compile(&format!("opforge_{name}"));
}
