//! Has the linker keep one copy of functions whose code is equal. Generic ones are compiled for many types, and by several crates; nothing here
//! tells functions apart by their addresses.

use std::path::Path;
use std::process::Command;
use std::{env, str};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = env::var("TARGET").unwrap_or_default();
    if target == "x86_64-unknown-linux-gnu" && links_with_lld(&target) == Some(true) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}

/// Whether the linker is the one that comes with Rust, as it is for this target since 1.90 unless another is asked for; GNU's does not know the
/// option.
fn links_with_lld(target: &str) -> Option<bool> {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if env::var_os("RUSTC_LINKER").is_some() || flags.contains("linker") || flags.contains("fuse-ld") {
        return Some(false);
    }
    let rustc = env::var_os("RUSTC")?;
    let asked = |of: &[&str]| Command::new(&rustc).args(of).output().ok();
    let version = asked(&["--version"])?;
    let minor: u32 = str::from_utf8(&version.stdout).ok()?.split('.').nth(1)?.parse().ok()?;
    let sysroot = asked(&["--print", "sysroot"])?;
    let sysroot = Path::new(str::from_utf8(&sysroot.stdout).ok()?.trim());
    Some(minor >= 90 && sysroot.join("lib/rustlib").join(target).join("bin/gcc-ld/ld.lld").exists())
}
