use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
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
