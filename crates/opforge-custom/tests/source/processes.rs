//! Many at once: threads, processes, and processes that are killed.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::bench::{Bench, returning, value};

#[test]
fn threads_compile_once() {
    let bench = Bench::with_compiler("");
    let source = bench.write("k.cc", &returning(7));
    thread::scope(|scope| {
        for thread in [(); 8].map(|()| scope.spawn(|| bench.value(&source))) {
            assert_eq!(thread.join().unwrap(), 7);
        }
    });
    assert_eq!(bench.runs(), 1);
}

/// What the processes of these tests do: not a test by itself.
#[test]
fn child() {
    let Some(source) = env::var_os("OPFORGE_TEST_SOURCE").map(PathBuf::from) else { return };
    let folder = source.parent().unwrap();
    let mut bench = Bench::new();
    bench.settings.cache = Some(folder.join("cache"));
    bench.settings.cxx = Some(format!("sh '{}'", folder.join("cxx").display()).into());
    assert_eq!(value(&bench.locate(&source).unwrap()), 7);
}

fn start(source: &std::path::Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "processes::child"]).env("OPFORGE_TEST_SOURCE", source).stdout(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn processes_compile_once() {
    let bench = Bench::with_compiler("");
    let source = bench.write("k.cc", &returning(7));
    for mut process in [(); 4].map(|()| start(&source)) {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(bench.runs(), 1);
    assert_eq!(bench.value(&source), 7);
    assert_eq!(bench.runs(), 1);
}

#[test]
fn killed_processes_leave_nothing_that_blocks() {
    let bench = Bench::with_compiler(
        "[ -e \"$bench/go\" ] || { echo $$ > \"$bench/pid.new\"; mv \"$bench/pid.new\" \"$bench/pid\"; sleep 1000; }",
    );
    let source = bench.write("k.cc", &returning(7));
    let mut process = start(&source);
    while !bench.path("pid").exists() {
        assert!(process.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    for lock in fs::read_dir(bench.path("cache/lock")).unwrap().flatten() {
        assert!(File::open(lock.path()).unwrap().try_lock().is_ok());
    }
    bench.write("go", "");
    assert_eq!(bench.value(&source), 7);
    let group = format!("-{}", fs::read_to_string(bench.path("pid")).unwrap().trim());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
}

/// The lock only saves work: who holds it for ever, as a stopped process does, delays others by their own time limit.
#[test]
fn stopped_processes_block_nobody() {
    let mut bench = Bench::new();
    let source = bench.write("k.c", &returning(7));
    let locks = bench.path("cache/lock");
    fs::create_dir_all(&locks).unwrap();
    fs::set_permissions(bench.path("cache"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let held: Vec<File> = (0..256).map(|number| File::create(locks.join(format!("{number:02x}"))).unwrap()).collect();
    held.iter().for_each(|lock| lock.lock().unwrap());
    bench.options.timeout = Duration::from_secs(5);
    assert_eq!(bench.value(&source), 7);
}
