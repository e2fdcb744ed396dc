use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use opforge_custom::source::Settings;

use crate::bench::{Bench, returning, value};

#[test]
fn a_second_call_runs_nothing() {
    let bench = Bench::with_compiler("");
    let source = bench.write("k.cc", &("#include <vector>\n".to_owned() + &returning(1)));
    let (first, second) = (bench.locate(&source).unwrap(), bench.locate(&source).unwrap());
    assert_eq!((&first.file, &first.key, bench.runs()), (&second.file, &second.key, 1));
    assert!(second.sources.len() > 10 && second.sources.len() == first.sources.len());
    // A path with links and dots to the same file.
    let link = bench.path("link");
    std::os::unix::fs::symlink(bench.folder.path(), &link).unwrap();
    let around = link.join("..").join(bench.folder.path().file_name().unwrap()).join("link/./k.cc");
    assert_eq!(bench.locate(&around).unwrap().file, first.file);
    assert_eq!(bench.runs(), 1);
}

#[test]
fn edits_are_noticed_and_taken_back() {
    let bench = Bench::with_compiler("");
    bench.write("value.h", "#define VALUE 1\n");
    let source = bench.write("k.cc", &("#include \"value.h\"\n".to_owned() + &returning("VALUE")));
    let old = bench.locate(&source).unwrap();
    assert_eq!(value(&old), 1);

    // Of the same length, and perhaps within one tick of the clock.
    bench.write("value.h", "#define VALUE 2\n");
    assert!(old.is_stale());
    assert_eq!((bench.value(&source), bench.runs()), (2, 2));

    bench.write("value.h", "#define VALUE 1\n");
    assert!(!old.is_stale());
    assert_eq!((bench.locate(&source).unwrap().file, bench.runs()), (old.file.clone(), 2));

    bench.write("k.cc", &("#include \"value.h\"\n".to_owned() + &returning("VALUE + 10")));
    assert!(old.is_stale());
    assert_eq!((bench.value(&source), bench.runs()), (11, 3));

    fs::remove_file(bench.path("value.h")).unwrap();
    assert!(old.is_stale());
    assert!(bench.refusal(&source).contains("value.h"));
}

#[test]
fn times_alone_make_nothing_stale() {
    let bench = Bench::with_compiler("");
    bench.write("value.h", "#define VALUE 1\n");
    let source = bench.write("k.cc", &("#include \"value.h\"\n".to_owned() + &returning("VALUE")));
    let artifact = bench.locate(&source).unwrap();
    for age in [100_000, 50_000] {
        let times = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(age));
        for name in ["k.cc", "value.h"] {
            File::options().append(true).open(bench.path(name)).unwrap().set_times(times).unwrap();
        }
        assert!(!artifact.is_stale());
        assert_eq!((bench.value(&source), bench.runs()), (1, 1));
    }
}

#[test]
fn edits_under_the_compilers_hands_are_noticed() {
    let bench = Bench::with_compiler(
        "[ -e \"$bench/edited\" ] || { touch \"$bench/edited\"; echo '#define VALUE 2' > \"$bench/value.h\"; }",
    );
    bench.write("value.h", "#define VALUE 1\n");
    let source = bench.write("k.cc", &("#include \"value.h\"\n".to_owned() + &returning("VALUE")));
    assert_eq!((bench.value(&source), bench.runs()), (2, 2));
    assert_eq!((bench.value(&source), bench.runs()), (2, 2));
}

#[test]
fn headers_that_never_settle_are_an_error() {
    let bench = Bench::with_compiler("echo >> \"$bench/value.h\"");
    bench.write("value.h", "#define VALUE 1\n");
    let source = bench.write("k.cc", &("#include \"value.h\"\n".to_owned() + &returning("VALUE")));
    assert!(bench.refusal(&source).contains("keep changing"));
}

#[test]
fn flags_compilers_and_variables_are_part_of_the_key() {
    let mut bench = Bench::with_compiler("");
    let source = bench.write("k.cc", &returning("VALUE"));
    for (runs, value) in [(1, 1), (2, 2), (2, 1)] {
        bench.options.flags = vec![format!("-DVALUE={value}")];
        assert_eq!((bench.value(&source), bench.runs()), (value, runs));
    }
    bench.settings.implicit = vec![("CPATH", "/somewhere".into())];
    assert_eq!((bench.value(&source), bench.runs()), (1, 3));
    let compiler = bench.settings.cxx.clone().unwrap().into_string().unwrap();
    bench.settings.cxx = Some((compiler + " -DVALUE=5").into());
    bench.options.flags.clear();
    assert_eq!((bench.value(&source), bench.runs()), (5, 4));
}

#[test]
fn names_do_not_collide() {
    let bench = Bench::new();
    let (one, two) = (bench.write("one/k.cc", &returning(1)), bench.write("two/k.cc", &returning(2)));
    let (first, second) = (bench.locate(&one).unwrap(), bench.locate(&two).unwrap());
    assert_eq!((value(&first), value(&second), bench.value(&one)), (1, 2, 1));
    let names = [&first, &second].map(|artifact| artifact.file.file_name().unwrap().to_str().unwrap());
    assert_eq!(names[0], format!("k_{}{}", first.key, std::env::consts::DLL_SUFFIX));
    assert_ne!(names[0], names[1]);
    let long = bench.write(&format!("{}.c", "é".repeat(120)), &returning(3));
    assert_eq!(bench.value(&long), 3);
}

#[test]
fn damaged_caches_heal() {
    let bench = Bench::with_compiler("");
    let source = bench.write("k.cc", &returning(1));
    let artifact = bench.locate(&source).unwrap();
    for entry in fs::read_dir(bench.path("cache/index")).unwrap().flatten() {
        fs::write(entry.path(), "cpu\0\0half an ent").unwrap();
    }
    assert_eq!((bench.value(&source), bench.runs()), (1, 2));
    fs::remove_file(&artifact.file).unwrap();
    assert_eq!((bench.value(&source), bench.runs()), (1, 3));
    fs::remove_dir_all(bench.path("cache")).unwrap();
    assert_eq!((bench.value(&source), bench.runs()), (1, 4));
    let left = fs::read_dir(bench.path("cache/stage")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn the_option_names_the_cache_before_the_setting() {
    let mut bench = Bench::new();
    bench.options.cache = Some(bench.path("akg_kernel_meta"));
    let artifact = bench.locate(&bench.write("add.cc", &returning(1))).unwrap();
    assert_eq!(artifact.file.parent(), Some(bench.path("akg_kernel_meta").canonicalize().unwrap().as_path()));
    assert!(!bench.path("cache").exists());
    (bench.options.cache, bench.settings.cache) = (None, None);
    bench.settings.user_cache = Some(bench.path("home"));
    let artifact = bench.locate(&bench.path("add.cc")).unwrap();
    assert!(artifact.file.starts_with(bench.path("home/opforge/custom").canonicalize().unwrap()));
}

#[test]
fn caches_are_private() {
    let bench = Bench::new();
    let source = bench.write("k.c", &returning(1));
    assert_eq!(bench.value(&source), 1);
    for folder in ["cache", "cache/index", "cache/stage", "cache/lock"] {
        assert_eq!(fs::metadata(bench.path(folder)).unwrap().permissions().mode() & 0o777, 0o700, "{folder}");
    }
    for mode in [0o770, 0o702] {
        fs::set_permissions(bench.path("cache"), fs::Permissions::from_mode(mode)).unwrap();
        let text = bench.locate(&source).unwrap_err().to_string();
        assert!(text.contains("may be written to by others") && text.contains("chmod go-w"), "{text}");
    }
}

/// Needs a folder of another user's, so only root, for whom nearly all are, or who may give one away, can run it.
#[test]
fn caches_of_other_users_are_refused() {
    let mut bench = Bench::new();
    let source = bench.write("k.c", &returning(1));
    fs::create_dir(bench.path("other")).unwrap();
    if std::os::unix::fs::chown(bench.path("other"), Some(12345), None).is_err() {
        eprintln!("skipped: only root can give folders to other users");
        return;
    }
    bench.settings = Settings { cache: Some(bench.path("other")), ..bench.settings };
    let text = bench.locate(&source).unwrap_err().to_string();
    assert!(text.contains("belongs to another user"), "{text}");
}
