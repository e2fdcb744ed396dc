//! What workers detect and measure.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use opforge_core::DType;

use super::*;
use crate::abi::{Outcome, Variant};
use crate::attribute::{Attribute, Attributes};
use crate::source::{Options, Sanitizer, locate};

const LIMIT: Duration = Duration::from_secs(60);
const PAGE: u64 = 65536;

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| library(vec![]));

fn library(sanitize: Vec<Sanitizer>) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/guarded.cc");
    let cache = Some(Path::new(env!("OUT_DIR")).join("kernels"));
    locate(&source, &Options { cache, sanitize, ..Options::default() }).unwrap().file
}

fn worker(start: &Start, file: &Path, function: &str) -> Worker {
    let mut worker = Worker::start(start, LIMIT).unwrap();
    let found = worker.open(file, function).unwrap();
    assert!(found.has(Found::MAIN) && !found.has(Found::INFER_TYPE) && found.version == Some(1));
    worker
}

/// An instance for four floats, its output's end at a guard, or its start.
fn guarded(mode: i64, end: bool) -> (Worker, u64) {
    let mut worker = worker(&Start::default(), &LIBRARY, "Guarded");
    let shift = prepare(&mut worker, mode, end);
    (worker, shift)
}

/// Prepares it as number 7; gives how far behind its pages' start arguments begin.
fn prepare(worker: &mut Worker, mode: i64, end: bool) -> u64 {
    let attributes = Attributes::new("guarded", vec![("mode".to_owned(), Attribute::Int(mode))]).unwrap();
    let arguments = vec![(&[4i64][..], DType::F32); 2];
    let signature = Signature { variant: Variant::default(), attributes: &attributes, arguments, outputs: Some(1) };
    assert_eq!(worker.prepare(7, &signature).unwrap(), [100]);
    let shift = if end { rustix::param::page_size() as u64 - 16 } else { 0 };
    let pieces = [
        Piece { offset: PAGE, size: 16, shift, writable: false },
        Piece { offset: 2 * PAGE, size: 16, shift, writable: true },
        Piece { offset: 3 * PAGE, size: 100, shift: 0, writable: true },
    ];
    worker.map(7, &pieces).unwrap();
    worker.write(&[1f32, 2.0, 3.0, 4.0].map(f32::to_ne_bytes).concat(), PAGE + shift).unwrap();
    shift
}

fn message(mode: i64, end: bool) -> String {
    let (mut worker, _) = guarded(mode, end);
    let Err(Failure::Death(death)) = worker.run(&[7], 1, Observe::Nothing) else { panic!("mode {mode} lived") };
    assert!(matches!(worker.run(&[7], 1, Observe::Nothing), Err(Failure::Death(_))));
    death.message(&|i| Some((["the input", "the output", "the workspace"][i].to_owned(), 16)))
}

#[test]
fn results_lie_in_the_region() {
    for end in [false, true] {
        let (mut worker, shift) = guarded(0, end);
        let runs = worker.run(&[7], 3, Observe::Nothing).unwrap();
        assert_eq!(runs, Runs { outcomes: vec![Outcome::Success], allocated: None, changed_arrays: false });
        let mut bytes = [0; 16];
        worker.read(&mut bytes, 2 * PAGE + shift).unwrap();
        assert_eq!(bytes, *[1f32, 2.0, 3.0, 4.0].map(f32::to_ne_bytes).as_flattened());
        worker.close(7).unwrap();
        assert!(matches!(worker.run(&[7], 1, Observe::Nothing), Err(Failure::Refused(_))));
    }
}

#[test]
fn accesses_beyond_arguments_are_told() {
    assert_eq!(message(1, true), "crashed with SIGSEGV: wrote past the end of the output: at byte 16 of 16");
    assert_eq!(message(2, false), "crashed with SIGSEGV: wrote before the start of the output: at byte -4");
    assert_eq!(message(3, true), "crashed with SIGSEGV: wrote to the input, which is read-only, at byte 4 of 16");
    assert_eq!(message(4, true), "crashed with SIGSEGV: read past the end of the input: at byte 16 of 16");
}

#[test]
fn kernel_data_that_cannot_be_destroyed_is_told() {
    let (mut worker, _) = guarded(8, true);
    assert_eq!(worker.run(&[7], 1, Observe::Nothing).unwrap().outcomes, [Outcome::Success]);
    let Err(Failure::Death(death)) = worker.close(7) else { panic!("it lived") };
    assert_eq!(death.message(&|_| None), "crashed with SIGSEGV: wrote to a null pointer, at 0x8");
}

#[test]
#[cfg(target_env = "gnu")]
fn leaks_are_measured() {
    let growth = |mode| {
        let (mut worker, _) = guarded(mode, true);
        worker.run(&[7], 1, Observe::Measure).unwrap();
        let (before, after) = worker.run(&[7], 20, Observe::Measure).unwrap().allocated.unwrap();
        after.cast_signed() - before.cast_signed()
    };
    assert_eq!(growth(0), 0);
    assert!(growth(5) >= 20 * 1000);
}

#[test]
fn instances_run_at_once() {
    let mut worker = worker(&Start::default(), &LIBRARY, "Together");
    let attributes = Attributes::new("together", vec![]).unwrap();
    for instance in 1..=4 {
        let arguments = vec![(&[1i64][..], DType::F32)];
        let signature = Signature { variant: Variant::default(), attributes: &attributes, arguments, outputs: Some(1) };
        worker.prepare(instance, &signature).unwrap();
        worker.map(instance, &[Piece { offset: instance * PAGE, size: 4, shift: 0, writable: true }]).unwrap();
    }
    assert_eq!(worker.run(&[1, 2, 3, 4], 1, Observe::Nothing).unwrap().outcomes, vec![Outcome::Success; 4]);
    for instance in 1..=4 {
        let mut most = [0; 4];
        worker.read(&mut most, instance * PAGE).unwrap();
        assert_eq!(f32::from_ne_bytes(most), 4.0);
    }
}

/// Runs an instance whose output is kept, and gives that.
fn printed(start: Start, file: &Path, mode: i64) -> (String, bool) {
    let mut kept = tempfile::tempfile().unwrap();
    let start = Start { output: Some(kept.try_clone().unwrap()), ..start };
    let mut worker = worker(&start, file, "Guarded");
    prepare(&mut worker, mode, true);
    let lived = worker.run(&[7], 1, Observe::Nothing).is_ok();
    let mut text = String::new();
    kept.rewind().unwrap();
    kept.read_to_string(&mut text).unwrap();
    (text, lived)
}

#[test]
fn what_is_printed_can_be_kept() {
    assert_eq!(printed(Start::default(), &LIBRARY, 6), ("printed by the kernel\n".to_owned(), true));
}

#[test]
#[cfg(target_os = "linux")]
fn sanitizers_may_watch() {
    let found = Command::new("c++").arg("-print-file-name=libasan.so").output().unwrap();
    let preload = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    if !Path::new(&preload).is_absolute() {
        return eprintln!("skipped: the compiler has no AddressSanitizer that can be preloaded");
    }
    let file = library(vec![Sanitizer::Address]);
    let environment = || vec![("LD_PRELOAD".into(), preload.clone().into())];
    let start = || Start { environment: environment(), bare: true, ..Start::default() };
    let (text, lived) = printed(start(), &file, 7);
    assert!(!lived && text.contains("heap-buffer-overflow") && text.contains("guarded.cc"), "{text}");
    assert_eq!(printed(start(), &file, 6), ("printed by the kernel\n".to_owned(), true));
}
