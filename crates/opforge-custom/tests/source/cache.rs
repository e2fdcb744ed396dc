use std::env;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use opforge_core::ErrorKind;
use opforge_custom::source::{Language, Settings, include_dir_with, inline_with};

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

/// What is below a folder, with the permissions.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let metadata = fs::symlink_metadata(&entry).unwrap();
        all.push((entry.clone(), metadata.permissions().mode() & 0o777));
        if metadata.is_dir() {
            all.extend(modes(&entry));
        }
    }
    all
}

/// Under the umask 000 or 002 all that is made may be written by others, unless that is seen to.
#[test]
fn results_are_private_whatever_the_umask() {
    for umask in ["000", "002", "077"] {
        let bench = Bench::new();
        fs::create_dir(bench.path("cache")).unwrap();
        fs::set_permissions(bench.path("cache"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut process = Command::new("sh");
        process
            .args(["-c", &format!("umask {umask}; exec \"$0\" --exact cache::child")])
            .arg(env::current_exe().unwrap());
        let status = process.env("OPFORGE_TEST_UMASK", bench.folder.path()).stdout(Stdio::null()).status();
        assert!(status.unwrap().success());
        let modes = modes(&bench.path("cache"));
        assert!(modes.len() > 15, "{modes:?}");
        for (path, mode) in modes {
            let expected = match path.extension().and_then(|suffix| suffix.to_str()) {
                _ if path.is_dir() => 0o700,
                Some("so") => 0o500,
                Some("h" | "cc") => 0o400,
                _ => 0o600,
            };
            assert_eq!(mode, expected, "{} under umask {umask}", path.display());
        }
    }
}

/// What the test above runs as a process of its own.
#[test]
fn child() {
    let Some(folder) = env::var_os("OPFORGE_TEST_UMASK").map(PathBuf::from) else { return };
    let mut bench = Bench::new();
    bench.settings.cache = Some(folder.join("cache"));
    let source = bench.write("k.cc", &returning(1));
    let library = bench.locate(&source).unwrap().file;
    assert_eq!(bench.value(&library), 1);
    fs::create_dir(bench.path("lib")).unwrap();
    for (name, flags) in [("lib/libinner.so", vec![]), ("outer.so", vec!["-Llib", "-linner", "-Wl,-rpath,$ORIGIN/lib"])]
    {
        let mut compiler = Command::new("cc");
        compiler
            .current_dir(bench.folder.path())
            .args(["-shared", "-fPIC", "-x", "c", "k.cc", "-x", "none", "-o", name]);
        assert!(compiler.args(["-Wl,--no-as-needed"]).args(flags).status().unwrap().success());
    }
    assert_eq!(bench.locate(&bench.path("outer.so")).unwrap().sources.len(), 2);
    inline_with("text", Language::Cpp, "", &bench.options, &bench.settings).unwrap();
    include_dir_with(&bench.options, &bench.settings).unwrap();
}

/// What others may have written, and what is not as it was made, is made again rather than loaded.
#[test]
fn results_that_others_may_have_changed_are_not_used() {
    let bench = Bench::with_compiler("");
    let source = bench.write("k.cc", &returning(1));
    let evil = bench.locate(&bench.write("evil.cc", &returning(666))).unwrap().file;
    let artifact = bench.locate(&source).unwrap();
    for (mode, runs) in [(0o522, 3), (0o502, 4), (0o500, 5)] {
        fs::set_permissions(&artifact.file, fs::Permissions::from_mode(0o700)).unwrap();
        fs::copy(&evil, &artifact.file).unwrap();
        fs::set_permissions(&artifact.file, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!((bench.value(&source), bench.runs()), (1, runs), "{mode:o}");
    }
    fs::remove_file(&artifact.file).unwrap();
    std::os::unix::fs::symlink(&evil, &artifact.file).unwrap();
    assert_eq!((bench.value(&source), bench.runs()), (1, 6));
    let text = inline_with("text", Language::Cpp, &returning(2), &bench.options, &bench.settings).unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&text, returning(666)).unwrap();
    let again = inline_with("text", Language::Cpp, &returning(2), &bench.options, &bench.settings).unwrap();
    assert_eq!((again, bench.value(&text)), (text.clone(), 2));
    // Folders that others may write to are made private before anything in them is believed.
    fs::set_permissions(bench.path("cache/index"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::remove_file(&artifact.file).unwrap();
    assert_eq!(bench.value(&source), 1);
    assert_eq!(fs::metadata(bench.path("cache/index")).unwrap().permissions().mode() & 0o777, 0o700);
}

/// Needs files of another user's, as the test of folders does.
#[test]
fn results_of_other_users_are_refused() {
    let bench = Bench::new();
    let source = bench.write("k.cc", &returning(1));
    let artifact = bench.locate(&source).unwrap();
    let index = fs::read_dir(bench.path("cache/index")).unwrap().next().unwrap().unwrap().path();
    for path in [&artifact.file, &index, &bench.path("cache/stage"), &bench.path("cache/include")] {
        if chown(path, Some(12345), None).is_err() {
            eprintln!("skipped: only root can give files to other users");
            return;
        }
        if path.ends_with("stage") {
            fs::remove_file(&artifact.file).unwrap();
        }
        let text = bench.locate(&source).unwrap_err().to_string();
        let named = path.file_name().unwrap().to_str().unwrap();
        assert!(text.contains("belongs to another user (12345)") && text.contains(named), "{text}");
        chown(path, Some(0), None).unwrap();
        assert_eq!(bench.value(&source), 1);
    }
}

/// Where others may write to a folder above, they could exchange the cache between a look at it and its use.
#[cfg(target_os = "linux")]
#[test]
fn a_cache_that_could_be_exchanged_is_held_open() {
    let mut bench = Bench::with_compiler("");
    fs::create_dir(bench.path("shared")).unwrap();
    fs::set_permissions(bench.path("shared"), fs::Permissions::from_mode(0o777)).unwrap();
    let text = "#include \"opforge/kernel.h\"\n".to_owned() + &returning(1);
    let source = bench.write("k.cc", &text);
    bench.settings.cache = Some(bench.path("shared/cache"));
    let artifact = bench.locate(&source).unwrap();
    assert!(artifact.file.starts_with("/proc"), "{}", artifact.file.display());
    assert_eq!((bench.locate(&source).unwrap().file, bench.runs()), (artifact.file.clone(), 1));
    fs::rename(bench.path("shared/cache"), bench.path("shared/moved")).unwrap();
    let evil = bench.path("shared/cache").join(artifact.file.file_name().unwrap());
    fs::create_dir(bench.path("shared/cache")).unwrap();
    fs::write(evil, "evil").unwrap();
    assert_eq!(value(&artifact), 1);
    // Another process, as this one's results do not depend on its number.
    bench.settings.cache = Some(bench.path("shared/moved"));
    assert_eq!((bench.value(&source), bench.runs()), (1, 1));
}

#[test]
fn what_can_be_no_cache_is_named() {
    let mut bench = Bench::new();
    let source = bench.write("k.c", &returning(1));
    let long = "x".repeat(300);
    for folder in
        ["/dev/null", "", "/dev/null/below", "nul\0byte", &long, &format!("{}/k.c", bench.folder.path().display())]
    {
        bench.options.cache = Some(folder.into());
        let error = bench.locate(&source).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Value, "{text}");
        let given = format!("cache: {:?}, which cannot be used", Path::new(folder));
        assert!(text.contains(&given) && text.contains("accepted: a folder"), "{text}");
    }
    bench.options.cache = Some(bench.path("blocked"));
    bench.write("blocked/stage", "");
    let error = bench.locate(&source).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CustomOp);
    assert!(error.to_string().contains("blocked/stage") && error.to_string().contains("is not a folder"), "{error}");
}

/// A full disk, as far as it can be had without one: no file may be larger than 1 MB.
#[test]
fn a_cache_that_cannot_be_written_to_is_named() {
    let bench = Bench::new();
    fs::create_dir(bench.path("cache")).unwrap();
    let library = bench.write("k.so", &"x".repeat(3 << 20));
    let mut process = Command::new("sh");
    process
        .args(["-c", "ulimit -f 1024; trap '' XFSZ; exec \"$0\" --exact cache::full"])
        .arg(env::current_exe().unwrap());
    let status = process.env("OPFORGE_TEST_FULL", library).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
}

/// What the test above runs as a process of its own.
#[test]
fn full() {
    let Some(library) = env::var_os("OPFORGE_TEST_FULL").map(PathBuf::from) else { return };
    let bench = Bench::new();
    let error = bench.locate(&library).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CustomOp, "{error}");
    let text = error.to_string();
    assert!(text.contains("cannot be used as opforge's cache") && text.contains("File too large"), "{text}");
}
