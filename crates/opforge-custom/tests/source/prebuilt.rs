use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use opforge_custom::source::Target;

use crate::bench::{Bench, Opened, returning, value};

/// A library made by hand.
fn build(bench: &Bench, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let (source, library) = (bench.write("by-hand.c", text), bench.path(name));
    fs::create_dir_all(library.parent().unwrap()).unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).args(flags).status();
    assert!(status.unwrap().success());
    library
}

#[test]
fn libraries_are_copied_once() {
    let bench = Bench::new();
    let library = build(&bench, "k.so", &returning(1), &[]);
    let first = bench.locate(&library).unwrap();
    assert_eq!((value(&first), first.target, &first.origin), (1, Target::Cpu, &library.canonicalize().unwrap()));
    assert_eq!(fs::read(&first.file).unwrap(), fs::read(&library).unwrap());
    assert_eq!(bench.locate(&library).unwrap().file, first.file);

    let next = build(&bench, "next.so", &returning(2), &[]);
    fs::rename(next, &library).unwrap();
    assert!(first.is_stale());
    assert_eq!((value(&first), bench.value(&library)), (1, 2));
}

#[test]
fn links_that_are_turned_make_stale() {
    let bench = Bench::new();
    for version in [1, 2] {
        build(&bench, &format!("v{version}/k.so"), &returning(version), &[]);
    }
    let link = bench.path("k.so");
    symlink(bench.path("v1/k.so"), &link).unwrap();
    let artifact = bench.locate(&link).unwrap();
    assert_eq!((value(&artifact), artifact.is_stale()), (1, false));
    fs::remove_file(&link).unwrap();
    symlink(bench.path("v2/k.so"), &link).unwrap();
    assert!(artifact.is_stale());
    assert_eq!(bench.value(&link), 2);
}

/// `bin/k.so` needs `lib/libhelper.so`, which needs `lib/deep/libbase.so`.
fn family(bench: &Bench) -> PathBuf {
    let at = |name: &str| bench.path(name).display().to_string();
    let (lib, deep) = (format!("-L{}", at("lib")), format!("-L{}", at("lib/deep")));
    build(bench, "lib/deep/libbase.so", "int base(void) { return 40; }", &[]);
    let helper = "int base(void); int helper(void) { return base() + 2; }";
    let flags = [&*deep, "-lbase", "-Wl,-rpath,$ORIGIN/deep"];
    build(bench, "lib/libhelper.so", helper, &flags);
    let kernel = "int helper(void);\n".to_owned() + &returning("helper()");
    let flags = [&*lib, "-lhelper", "-Wl,--allow-shlib-undefined", "-Wl,-rpath,/nowhere:${ORIGIN}/../lib"];
    build(bench, "bin/k.so", &kernel, &flags)
}

#[cfg(target_os = "linux")]
#[test]
fn libraries_beside_it_come_along() {
    let bench = Bench::new();
    let library = family(&bench);
    let artifact = bench.locate(&library).unwrap();
    assert_eq!(artifact.sources.len(), 3);
    assert!(artifact.file.ends_with(format!("k_{}/bin/k.so", artifact.key)), "{}", artifact.file.display());
    fs::rename(bench.path("lib"), bench.path("moved")).unwrap();
    assert_eq!(value(&artifact), 42);
    assert!(artifact.is_stale());
    fs::rename(bench.path("moved"), bench.path("lib")).unwrap();
    assert!(!artifact.is_stale());

    build(&bench, "lib/deep/libbase.so", "int base(void) { return 0; }", &[]);
    assert!(artifact.is_stale());
    let newer = bench.locate(&library).unwrap();
    assert_eq!((value(&newer), newer.file != artifact.file), (2, true));
}

/// The loader gives a library what the process has open under the name that it needs, wherever that was found.
#[cfg(target_os = "linux")]
#[test]
fn libraries_of_one_name_are_not_taken_for_each_other() {
    let bench = Bench::new();
    let library = family(&bench);
    let first = Opened::new(&bench.locate(&library).unwrap());
    let soname = |name: &str| format!("-Wl,-soname,{name}");
    build(&bench, "lib/deep/libbase.so", "int base(void) { return 0; }", &[]);
    let second = Opened::new(&bench.locate(&library).unwrap());
    assert_eq!((first.value(), second.value()), (42, 2));

    // A library that is opened by its path is known by the name that it gives itself, too.
    let alone = build(&bench, "other/k.so", &returning(7), &[&soname("libhelper.so")]);
    let third = Opened::new(&bench.locate(&alone).unwrap());
    let helper = "int helper(void) { return 3; }";
    build(&bench, "lib/libhelper.so", helper, &[&soname("libhelper.so")]);
    let fourth = Opened::new(&bench.locate(&library).unwrap());
    assert_eq!((third.value(), fourth.value()), (7, 3));
}

/// Equal libraries of two others are one, with one state.
#[cfg(target_os = "linux")]
#[test]
fn equal_libraries_are_shared() {
    let bench = Bench::new();
    build(&bench, "libcounter.so", "int count(void) { static int count; return ++count; }", &[]);
    let flags = [&format!("-L{}", bench.path("").display()), "-lcounter", "-Wl,-rpath,$ORIGIN"];
    let text = "int count(void);\n".to_owned() + &returning("count()");
    let one = Opened::new(&bench.locate(&build(&bench, "one.so", &text, &flags)).unwrap());
    let other = "int other;\n".to_owned() + &text;
    let two = Opened::new(&bench.locate(&build(&bench, "two.so", &other, &flags)).unwrap());
    assert_eq!((one.value(), two.value(), one.value()), (1, 2, 3));
}

#[cfg(target_os = "linux")]
#[test]
fn libraries_beside_it_must_be_allowed() {
    let mut bench = Bench::new();
    let library = family(&bench);
    for cached in [false, true] {
        bench.settings.allow = vec![("OPFORGE_CUSTOM_ALLOW", bench.path("bin").into())];
        let text = bench.locate(&library).unwrap_err().to_string();
        assert!(text.contains("libhelper.so") && text.contains("does not allow"), "cached: {cached}: {text}");
        bench.settings.allow.clear();
        assert_eq!(bench.value(&library), 42);
    }
}

#[test]
fn what_is_no_library_is_copied_as_it_is() {
    let bench = Bench::new();
    let path = bench.write("k.so", "not a library");
    assert_eq!(fs::read(bench.locate(&path).unwrap().file).unwrap(), b"not a library");
    assert!(bench.locate(Path::new(&bench.write("empty.so", ""))).is_ok());
}
