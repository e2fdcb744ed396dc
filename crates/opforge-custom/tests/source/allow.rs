use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_custom::source::{Language, inline_with};

use crate::bench::{Bench, returning, value};

/// A bench whose allow-list is this, with `$` for its folder.
fn allowing(list: &str) -> Bench {
    let mut bench = Bench::new();
    let list = list.replace('$', bench.folder.path().to_str().unwrap());
    bench.settings.allow = vec![("OPFORGE_CUSTOM_ALLOW", list.into())];
    bench
}

#[test]
fn files_below_an_entry_are_accepted() {
    for list in ["$", "/nowhere:$/ops", "$/ops/", "$/ops/k.c", ":$/other/../ops:", "/"] {
        let bench = allowing(list);
        fs::create_dir(bench.path("other")).unwrap();
        assert_eq!(bench.value(&bench.write("ops/k.c", &returning(1))), 1, "{list}");
    }
}

#[test]
fn everything_else_is_refused() {
    let bench = allowing("$/ops");
    fs::create_dir_all(bench.path("ops/inner")).unwrap();
    let evil = bench.write("ops-evil/k.c", &returning(1));
    symlink(&evil, bench.path("ops/link.c")).unwrap();
    symlink(bench.path("ops-evil"), bench.path("ops/folder")).unwrap();
    for path in ["ops-evil/k.c", "ops/../ops-evil/k.c", "ops/link.c", "ops/folder/k.c", "ops/inner/../../ops-evil/k.c"]
    {
        let text = bench.refusal(&bench.path(path));
        let (resolved, accepted) = (evil.canonicalize().unwrap(), bench.path("ops").canonicalize().unwrap());
        for part in ["OPFORGE_CUSTOM_ALLOW", path, resolved.to_str().unwrap(), &format!("below {}", accepted.display())]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}

#[test]
fn an_empty_list_allows_nothing() {
    for list in ["", ":", "/no/such/folder"] {
        let bench = allowing(list);
        let text = bench.refusal(&bench.write("k.c", &returning(1)));
        assert!(text.contains("OPFORGE_CUSTOM_ALLOW") && text.contains("allows nothing"), "{text}");
    }
}

#[test]
fn all_lists_must_accept() {
    let mut bench = allowing("$");
    bench.settings.allow.push(("MS_CUSTOM_AOT_WHITE_LIST", bench.path("ops").into()));
    let (inside, outside) = (bench.write("ops/k.c", &returning(1)), bench.write("k.c", &returning(2)));
    assert_eq!(bench.value(&inside), 1);
    assert!(bench.refusal(&outside).contains("MS_CUSTOM_AOT_WHITE_LIST"));
}

#[test]
fn cached_results_and_texts_are_checked_too() {
    let mut bench = Bench::new();
    let source = bench.write("k.c", &returning(1));
    let artifact = bench.locate(&source).unwrap();
    bench.settings.allow = vec![("OPFORGE_CUSTOM_ALLOW", bench.path("ops").into())];
    fs::create_dir(bench.path("ops")).unwrap();
    assert!(bench.refusal(&source).contains("does not allow"));
    assert!(bench.refusal(&artifact.file).contains("does not allow"));
    let text = inline_with("text", Language::C, "", &bench.options, &bench.settings).unwrap();
    assert!(bench.refusal(&text).contains("does not allow"));
}

#[test]
fn what_is_no_file_is_refused() {
    let bench = Bench::new();
    let text = bench.refusal(&bench.path("missing.so"));
    assert!(text.contains("cannot be opened") && text.contains("No such file"), "{text}");
    fs::create_dir(bench.path("folder.so")).unwrap();
    assert!(bench.refusal(&bench.path("folder.so")).contains("is not a file"));
    // Would otherwise wait for a writer.
    let pipe = bench.path("pipe.so");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(bench.refusal(&pipe).contains("is not a file"));
    assert!(bench.refusal(Path::new("/dev/null")).contains("is not a file"));
}

#[test]
fn a_source_swapped_after_the_check_is_not_compiled() {
    let bench = Bench::with_compiler("mv \"$bench/evil\" \"$bench/k.cc\"");
    let source = bench.write("k.cc", &returning(1));
    bench.write("evil", &returning(666));
    let artifact = bench.locate(&source).unwrap();
    assert_eq!(value(&artifact), 1);
    assert!(artifact.is_stale());
}

/// A link is turned from an allowed library to another one and back all the time: whatever comes out, it is never the other one.
#[test]
fn a_library_swapped_at_any_time_is_not_used() {
    let mut bench = Bench::new();
    let library = |value: i32| bench.locate(&bench.write(&format!("{value}.c"), &returning(value))).unwrap().file;
    let (good, evil) = (library(1), library(666));
    for (folder, library) in [("ops", good), ("evil", evil)] {
        fs::create_dir(bench.path(folder)).unwrap();
        fs::copy(library, bench.path(folder).join("k.so")).unwrap();
    }
    bench.settings.allow = vec![("OPFORGE_CUSTOM_ALLOW", bench.path("ops").into())];
    let (link, new) = (bench.path("link"), bench.path("new"));
    let turn = |folder: &str| {
        symlink(bench.path(folder), &new).unwrap();
        fs::rename(&new, &link).unwrap();
    };
    turn("ops");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                turn("evil");
                turn("ops");
            }
        });
        for _ in 0..300 {
            if let Ok(artifact) = bench.locate(&link.join("k.so")) {
                assert_eq!(value(&artifact), 1);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(bench.value(&link.join("k.so")), 1);
}

/// A library made by hand below the bench's folder, in which the compiler runs.
fn build(bench: &Bench, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let (source, library) = (bench.write("by-hand.c", text), bench.path(name));
    fs::create_dir_all(library.parent().unwrap()).unwrap();
    let mut compiler = Command::new("cc");
    compiler.current_dir(bench.folder.path()).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).args(flags);
    assert!(compiler.status().unwrap().success());
    library
}

const CALLS_HELPER: &str = "int helper(void); int Value(void) { return helper(); }\n";

/// Which libraries the loader opens besides is held to the list too, wherever the library says that they are.
#[cfg(target_os = "linux")]
#[test]
fn libraries_that_are_needed_must_be_allowed() {
    let bench = allowing("$/ops");
    let folder = bench.folder.path().display().to_string();
    build(&bench, "evil/libhelper.so", "int helper(void) { return 666; }", &[]);
    build(&bench, "ops/good/libhelper.so", "int helper(void) { return 1; }", &[]);
    fs::create_dir(bench.path("ops/turned")).unwrap();
    symlink(bench.path("evil/libhelper.so"), bench.path("ops/turned/libhelper.so")).unwrap();
    symlink(bench.path("evil"), bench.path("ops/link")).unwrap();
    let rpath = |folder: &str| format!("-Wl,-rpath,{folder}");
    for (run, old, names) in [
        (format!("{folder}/evil"), false, "evil"),
        (format!("{folder}/evil"), true, "evil"),
        (format!("{folder}/made later"), false, "made later"),
        (format!("{folder}/ops/link"), false, "ops/link"),
        (format!("{folder}/ops/turned"), false, "ops/turned/libhelper.so"),
        (format!("{folder}/ops/../evil"), false, "ops/../evil"),
        ("evil".to_owned(), false, "evil"),
        (String::new() + ":/usr/lib", false, "accepted are absolute paths"),
        (format!("{folder}/$LIB"), false, "$LIB"),
    ] {
        let tags = if old { "-Wl,--disable-new-dtags" } else { "-Wl,--enable-new-dtags" };
        let library = build(&bench, "ops/k.so", CALLS_HELPER, &["-Levil", "-lhelper", &rpath(&run), tags]);
        let text = bench.refusal(&library);
        assert!(text.contains("looks for libraries in ") || text.contains("needs "), "{run}: {text}");
        assert!(text.contains(names), "{run}: {text}");
        // Nor is it used once it is in the cache.
        assert!(bench.locate(&library).is_err(), "{run}");
    }
    let by_path = build(&bench, "ops/k.so", CALLS_HELPER, &[&format!("{folder}/evil/libhelper.so")]);
    let text = bench.refusal(&by_path);
    assert!(text.contains("needs ") && text.contains("evil/libhelper.so") && text.contains("does not allow"), "{text}");
    let fine = build(&bench, "ops/k.so", CALLS_HELPER, &["-Levil", "-lhelper", &rpath(&format!("{folder}/ops/good"))]);
    assert_eq!(bench.value(&fine), 1);
    let fine = build(&bench, "ops/k.so", CALLS_HELPER, &["-Levil", "-lhelper", "-Wl,-rpath,$ORIGIN/good"]);
    assert_eq!(bench.value(&fine), 1);
}

/// A library's section headers may be missing, which the loader does not need.
#[cfg(target_os = "linux")]
#[test]
fn libraries_without_sections_are_looked_into() {
    let bench = allowing("$/ops");
    build(&bench, "evil/libhelper.so", "int helper(void) { return 666; }", &[]);
    let rpath = format!("-Wl,-rpath,{}", bench.path("evil").display());
    let library = build(&bench, "ops/k.so", CALLS_HELPER, &["-Levil", "-lhelper", &rpath]);
    let mut bytes = fs::read(&library).unwrap();
    // e_shoff, e_shnum and e_shstrndx.
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    fs::write(&library, bytes).unwrap();
    assert!(bench.refusal(&library).contains("looks for libraries in"));
}

#[test]
fn headers_must_be_allowed() {
    let mut bench = allowing("$/ops");
    let evil = bench.write("evil/evil.h", "#define VALUE 666\n");
    bench.write("ops/good.h", "#define VALUE 1\n");
    symlink(&evil, bench.path("ops/link.h")).unwrap();
    let source = |include: &str| {
        let headers = "#include <vector>\n#include \"opforge/kernel.h\"\n".to_owned();
        bench.write("ops/k.cc", &(headers + &format!("#include \"{include}\"\n") + &returning("VALUE")))
    };
    for include in [evil.to_str().unwrap(), "../evil/evil.h", "link.h"] {
        let source = source(include);
        for cached in [false, true] {
            let text = bench.refusal(&source);
            assert!(text.contains("includes ") && text.contains("evil.h"), "{include}, cached {cached}: {text}");
            assert!(text.contains("OPFORGE_CUSTOM_ALLOW does not allow"), "{text}");
        }
    }
    assert_eq!(bench.value(&source("good.h")), 1);
    let by_folder = source("evil.h");
    bench.options.include = vec![bench.path("evil")];
    assert!(bench.refusal(&by_folder).contains("evil/evil.h"));
    bench.options.include.clear();
    for flags in [vec!["-Ievil"], vec!["-isystem", "evil"]] {
        bench.options.flags =
            flags.iter().map(|flag| flag.replace("evil", bench.path("evil").to_str().unwrap())).collect();
        assert!(bench.refusal(&by_folder).contains("evil/evil.h"));
    }
    bench.settings.allow.clear();
    assert_eq!(bench.value(&by_folder), 666);
}

/// A flag may name files and programs that no list has seen.
#[test]
fn flags_that_name_files_or_programs_are_refused() {
    let mut bench = allowing("$/ops");
    let object = bench.path("evil.o");
    let evil = bench.write("evil.c", "int helper(void) { return 666; }\n");
    assert!(Command::new("cc").args(["-c", "-fPIC", "-o"]).args([&object, &evil]).status().unwrap().success());
    bench.write("args", "-include evil.h");
    bench.write("ops/script/libtext.so", "INPUT(/evil.o)");
    fs::create_dir(bench.path("ops/turned")).unwrap();
    symlink(&object, bench.path("ops/turned/libhelper.a")).unwrap();
    let source = bench.write("ops/k.c", &returning(1));
    let at = |name: &str| bench.path(name).display().to_string();
    for (flags, named) in [
        (vec![at("evil.o")], at("evil.o")),
        (vec!["-include".to_owned(), at("evil.h")], "-include".to_owned()),
        (vec!["-wrapper".to_owned(), at("evil")], "-wrapper".to_owned()),
        (vec![format!("@{}", at("args"))], "@".to_owned()),
        (vec!["-I".to_owned(), format!("@{}", at("args"))], "-I".to_owned()),
        (vec!["-D".to_owned()], "-D".to_owned()),
        (vec![format!("-B{}", at("evil"))], "-B".to_owned()),
        (vec![format!("-fplugin={}", at("evil.so"))], "-fplugin".to_owned()),
        (vec![format!("-specs={}", at("evil"))], "-specs".to_owned()),
        (vec!["-Xlinker".to_owned(), at("evil.o")], "-Xlinker".to_owned()),
        (vec![format!("-Wl,{}", at("evil.o"))], "-Wl,".to_owned()),
        (vec![format!("-Wl,-T,{}", at("evil"))], "-Wl,-T".to_owned()),
        (vec![format!("-Wp,-include,{}", at("evil.h"))], "-Wp".to_owned()),
        (vec![format!("-Wa,-I{}", at("evil"))], "-Wa".to_owned()),
        (vec![format!("--sysroot={}", at("evil"))], "--sysroot".to_owned()),
        (vec!["-x".to_owned(), "assembler".to_owned()], "-x".to_owned()),
        (vec![format!("-L{}", bench.folder.path().display()), "-l:evil.o".to_owned()], "-L".to_owned()),
        (vec!["-l:../evil.o".to_owned()], "-l:../evil.o".to_owned()),
        (vec![format!("-L{}", at("ops/turned")), "-lhelper".to_owned()], "libhelper.a".to_owned()),
        (vec![format!("-L{}", at("ops/script")), "-ltext".to_owned()], "libtext.so".to_owned()),
    ] {
        bench.options.flags = flags.clone();
        let text = bench.refusal(&source);
        assert!(text.contains("the flag ") && text.contains(&named), "{flags:?}: {text}");
        assert!(text.contains("OPFORGE_CUSTOM_ALLOW is set"), "{flags:?}: {text}");
    }
    bench.options.flags =
        "-O3 -march=native -DX=1 -D Y=2 -Wall -ffast-math -g -lm -Wl,-z,now".split(' ').map(str::to_owned).collect();
    assert_eq!(bench.value(&source), 1);
    // Without a list everything passes, since every file may be named.
    bench.settings.allow.clear();
    bench.options.flags = vec![object.display().to_string()];
    assert_eq!(bench.value(&bench.write("ops/calls.c", CALLS_HELPER)), 666);
}

/// Of these variables compilers see nothing where there is an allow-list.
#[test]
fn variables_that_name_files_or_programs_are_hidden() {
    // SAFETY: no other test reads or sets this variable, and Rust's own access to the environment is locked.
    unsafe { std::env::set_var("CCC_ADD_ARGS", "evil.o") };
    for (list, seen) in [(Some("$"), false), (None, true)] {
        let mut bench = Bench::with_compiler("env > \"$bench/env\"");
        let folder = bench.folder.path().display().to_string();
        bench.settings.allow =
            list.map(|list| ("OPFORGE_CUSTOM_ALLOW", list.replace('$', &folder).into())).into_iter().collect();
        assert_eq!(bench.value(&bench.write("k.cc", &returning(1))), 1);
        assert_eq!(fs::read_to_string(bench.path("env")).unwrap().contains("CCC_ADD_ARGS"), seen);
    }
}
