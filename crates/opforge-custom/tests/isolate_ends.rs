//! Isolated operators leave nothing behind: no process, no descriptor, no memory. By itself, because it counts what the process has.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::library;
use opforge::{DType, Device, Tensor};
use opforge_custom::{CustomOp, DTypeRule, ShapeRule};
use opforge_runtime::alloc;

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| library("misbehave.cc"));

/// Set for the process that a test starts, to the library.
const CHILD: &str = "OPFORGE_TEST_LIBRARY";

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(function: &str, library: &Path) -> CustomOp {
    let op = CustomOp::open_isolated(library, function, Some(Duration::from_millis(500))).unwrap();
    op.shapes(ShapeRule::Fixed(vec![vec![]])).dtypes(DTypeRule::Fixed(vec![DType::I64]))
}

fn scalar() -> Tensor {
    Tensor::new(0f32, &Device::Cpu).unwrap()
}

/// The state of a process and which started it; `None` if there is no such process.
fn status(process: i64) -> Option<(String, i64)> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

/// Waits until a process has ended, though whoever inherited it may not have noticed yet.
fn ends(process: i64) -> bool {
    let runs = || status(process).is_some_and(|(state, _)| state != "Z");
    let deadline = Instant::now() + Duration::from_secs(60);
    while runs() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    !runs()
}

/// How many processes this one has started and not waited for.
fn children() -> usize {
    let numbers =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    numbers.filter(|&number| status(number).is_some_and(|(_, parent)| parent == i64::from(std::process::id()))).count()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// What is mapped from workers' memory.
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().matches("opforge").count()
}

#[test]
fn a_process_lives_as_long_as_its_operator() {
    let _alone = alone();
    let op = open("Process", &LIBRARY);
    let process = || op.apply(&[&scalar()]).unwrap().to_scalar::<i64>().unwrap();
    let number = process();
    assert_ne!(number, i64::from(std::process::id()));
    assert_eq!(process(), number);
    drop(op.clone().named("again"));
    assert_eq!(process(), number);
    drop(op);
    assert_eq!(status(number), None);
}

#[test]
fn nothing_is_left_of_operators_that_ended_badly_or_well() {
    let _alone = alone();
    drop(open("Process", &LIBRARY));
    assert_eq!(children(), 0);
    let before = (descriptors(), mappings());
    for how in ["", "abort", "loop", "exit"] {
        let op = open("Misbehave", &LIBRARY);
        let attributes = [("how".to_owned(), how.into()), ("where".to_owned(), "".into())];
        let called = op.apply_with(&[&scalar()], &attributes).and_then(|y| y[0].to_scalar::<i64>());
        assert_eq!(called.is_ok(), how.is_empty());
        assert_eq!(children(), usize::from(how.is_empty()));
        drop(op);
        assert_eq!((descriptors(), mappings(), children()), (before.0, before.1, 0), "after {how:?}");
    }
}

/// Unless something else is asked for, a process may allocate as much as tensors may take here.
#[test]
fn the_memory_limit_is_that_of_tensors() {
    let _alone = alone();
    let before = alloc::limit();
    for (limit, expected) in [(1 << 30, 1 << 30), (1 << 20, 32 << 20)] {
        alloc::set_limit(limit);
        let op = open("Misbehave", &LIBRARY);
        let attributes = [("how".to_owned(), "take malloc".into()), ("where".to_owned(), "".into())];
        let error = op.apply_with(&[&scalar()], &attributes).and_then(|y| y[0].to_scalar::<i64>()).unwrap_err();
        assert!(error.to_string().contains(&format!("beyond its memory limit of {expected} bytes")), "{error}");
    }
    alloc::set_limit(before);
}

#[test]
fn processes_that_a_kernel_started_end_with_its_own() {
    let _alone = alone();
    let op = open("Starts", &LIBRARY);
    let started = op.apply(&[&scalar()]).unwrap().to_scalar::<i64>().unwrap();
    assert!(status(started).is_some());
    drop(op);
    assert!(ends(started));
}

#[test]
fn a_fork_gets_a_process_of_its_own_and_leaves_the_other_alone() {
    let _alone = alone();
    let op = open("Process", &LIBRARY);
    let process = || op.apply(&[&scalar()])?.to_scalar::<i64>();
    let number = process().unwrap();
    // SAFETY: the child uses opforge, which is prepared for forks, and ends without returning.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_own = |own| status(own).is_some_and(|(_, parent)| parent == i64::from(std::process::id()));
        let tried = process().and_then(|own| Ok(own != number && is_own(own) && process()? == own));
        drop(op);
        // SAFETY: nothing is expected of this process any more.
        unsafe { libc::_exit(if matches!(tried, Ok(true)) { 0 } else { 1 }) };
    }
    let mut how = -1;
    // SAFETY: the child is this process's, and the number is written to.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut how, 0) }, child);
    assert_eq!(how, 0);
    assert_eq!(process().unwrap(), number);
    drop(op);
    assert_eq!(status(number), None);
}

#[test]
fn a_process_ends_with_the_one_that_started_it_even_in_an_endless_loop() {
    let _alone = alone();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "forever", "--nocapture", "--include-ignored"]).env(CHILD, LIBRARY.as_path());
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let number = lines.filter_map(|line| line.strip_prefix("process ")?.parse().ok()).next().unwrap();
    assert!(status(number).is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ends(number));
}

/// What the test above runs as a process of its own.
#[test]
#[ignore = "never ends"]
fn forever() {
    let file = std::env::var_os(CHILD).expect("the library");
    let op = CustomOp::open_isolated(file.as_ref(), "Forever", None).unwrap();
    op.shapes(ShapeRule::Fixed(vec![vec![]])).apply(&[&scalar()]).unwrap().to_scalar::<f32>().unwrap();
}
