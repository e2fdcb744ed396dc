//! Running a compiler.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use opforge_core::Result;
use opforge_runtime::vm;
use rustix::process::{Pid, Signal, kill_process_group};

use super::cache::POLL;

/// How a process ended.
pub(super) enum Ended {
    Success,
    /// What happened, and the process's output.
    Failure {
        reason: String,
        output: String,
    },
}

/// Runs a command, with its output in a file of the folder `stage`. When it does not end in time, or the front end gives up, it is killed with all
/// processes of its group.
pub(super) fn run(mut command: Command, stage: &Path, timeout: Duration) -> Result<Ended> {
    let log = stage.join("output");
    let out = File::create(&log)?;
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    // In the language of opforge's messages; intermediate files go where they are removed whatever happens.
    command.env("LC_ALL", "C").env("TMPDIR", stage).process_group(0);
    let program = command.get_program().to_owned();
    let failure = |reason| {
        let output = fs::read(&log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        Ok(Ended::Failure { reason, output })
    };
    let mut process = match command.spawn() {
        Ok(child) => Process(child),
        Err(error) => return failure(format!("{} cannot be run: {error}", program.display())),
    };
    match process.wait(timeout)? {
        None => failure(format!("the compiler was ended: it ran for more than {} s", timeout.as_secs_f64())),
        Some(Err(error)) => failure(format!("the compiler's end is not known: {error}")),
        Some(Ok(status)) if status.success() => Ok(Ended::Success),
        Some(Ok(status)) => failure(match (status.code(), status.signal()) {
            (Some(code), _) => format!("it does not compile (exit status {code})"),
            (None, Some(signal)) => format!("the compiler crashed (signal {signal})"),
            (None, None) => "the compiler failed".to_owned(),
        }),
    }
}

/// A process that does not outlive this value.
struct Process(Child);

impl Process {
    fn wait(&mut self, timeout: Duration) -> Result<Option<io::Result<ExitStatus>>> {
        let start = Instant::now();
        let mut ended = None;
        vm::wait(&mut |at_most| {
            std::thread::sleep(POLL.min(at_most));
            ended = self.0.try_wait().transpose();
            ended.is_some() || start.elapsed() >= timeout
        })?;
        Ok(ended)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // Errors would say that it has ended meanwhile.
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}
