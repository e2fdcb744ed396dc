//! The engine of MPI: this test starts itself under `mpiexec`, where there is one, and says so where there is none.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use opforge_core::{Error, Result};
use opforge_dist::{LIMIT, Mpi};

mod common;
mod launcher;

use launcher::{Launch, launcher};

/// Longer than any of these programs takes; what still runs then is killed.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(launch: &Launch, ranks: usize, program: &str) -> (Output, Duration) {
    let begin = Instant::now();
    let output = launch.run(ranks, program, &[], PATIENCE);
    (output, begin.elapsed())
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_call_in_every_dtype() {
    let Some(launch) = launcher() else { return };
    for ranks in 1..=3 {
        let (output, _) = run(&launch, ranks, "rank_everything");
        assert!(output.status.success(), "{ranks} ranks: {}", text(&output));
        assert_eq!(text(&output).matches("1 passed").count(), ranks, "{}", text(&output));
    }
}

#[test]
fn a_library_that_is_none_is_an_error_that_says_what_helps() {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command.args(["--ignored", "--exact", "--nocapture", "rank_without_library"]);
    let output = command.env("OPFORGE_MPI", "/nowhere/libmpi_abi.so").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
#[ignore = "what a rank of another test runs"]
fn rank_everything() -> Result<()> {
    let mpi = Mpi::start()?;
    common::everything(&*mpi.world()?)?;
    mpi.finish(LIMIT)?;
    let error = mpi.world().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("finished"), "{error}");
    Ok(())
}

#[test]
#[ignore = "what a process of another test runs"]
fn rank_without_library() {
    let error: Error = Mpi::start().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("pip install mpich") && text.contains("OPFORGE_MPI"), "{text}");
}
