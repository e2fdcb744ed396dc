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

/// What came of a process.
pub(super) struct Outcome {
    /// Why it is no success, if it is none.
    pub failure: Option<String>,
    /// What it printed.
    pub output: String,
}

/// Runs a command, with its output in a file of the folder `stage`. When it does not end in time, or the front end gives up, it is killed with all
/// processes of its group.
pub(super) fn run(mut command: Command, stage: &Path, timeout: Duration) -> Result<Outcome> {
    let log = stage.join("output");
    let out = File::create(&log)?;
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    // In the language of opforge's messages; intermediate files go where they are removed whatever happens.
    command.env("LC_ALL", "C").env("TMPDIR", stage).process_group(0);
    let failure = match command.spawn() {
        Ok(child) => failure(Process(child).wait(timeout)?, timeout),
        Err(error) => Some(format!("{} cannot be run: {error}", command.get_program().display())),
    };
    Ok(Outcome { failure, output: String::from_utf8_lossy(&fs::read(&log)?).into_owned() })
}

/// Why this end of a process is no success.
fn failure(end: Option<io::Result<ExitStatus>>, timeout: Duration) -> Option<String> {
    let status = match end {
        Some(Ok(status)) if status.success() => return None,
        Some(Ok(status)) => status,
        Some(Err(error)) => return Some(format!("the compiler's end is not known: {error}")),
        None => return Some(format!("the compiler was ended: it ran for more than {} s", timeout.as_secs_f64())),
    };
    Some(match (status.code(), status.signal()) {
        (Some(code), _) => format!("it does not compile (exit status {code})"),
        (None, Some(signal)) => format!("the compiler crashed (signal {signal})"),
        (None, None) => "the compiler failed".to_owned(),
    })
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
