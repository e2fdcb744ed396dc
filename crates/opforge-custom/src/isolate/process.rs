//! The process of a worker, and the exchange of requests and answers with it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use opforge_runtime::{alloc, vm};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, Signal};

use super::death::{Death, Refusal};
use super::executable;
use super::message::{Answer, HEADER, Request, answer_length};
use super::worker::Failure;

/// Bytes at the region's start that arguments leave alone (`worker::kReportSize`).
pub(crate) const REPORT_SIZE: u64 = 65536;

/// The least memory with which a worker can do anything, in bytes.
pub(super) const LEAST_MEMORY: usize = 32 << 20;

/// How a worker is started.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// Variables that its environment has besides this process's.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether signals are left to the library, and to whatever the environment preloads.
    pub bare: bool,
    /// Where the library's standard output and errors go; to this process's errors if `None`.
    pub output: Option<File>,
    /// How many bytes it may allocate; `None`: as many as tensors here may take. A bare one is not limited, since sanitizers reserve all there is.
    pub memory: Option<usize>,
    /// The library that it will open.
    pub library: PathBuf,
}

/// A running worker. Dropping it ends it, its kernels' data destroyed first if that is quick.
pub(super) struct Process {
    child: Child,
    socket: Option<UnixStream>,
    region: File,
    /// How many bytes the worker may allocate; 0 if it is not limited.
    memory: usize,
    /// The limit that the socket knows.
    limit: Duration,
    /// The process that started it: a fork of that leaves it alone.
    owner: u32,
    /// How it ended, and whether by itself.
    ended: Option<(ExitStatus, bool)>,
}

/// A broken connection is an error, not a signal.
#[cfg(target_os = "linux")]
const QUIETLY: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const QUIETLY: SendFlags = SendFlags::empty();

/// More cannot be needed, in bytes; the library may have written into the socket.
const LARGEST_ANSWER: usize = 1 << 28;

/// How long a worker may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(1);

impl Process {
    pub fn start(start: &Start) -> io::Result<Self> {
        let region = memory()?;
        region.set_len(REPORT_SIZE)?;
        let (socket, theirs) = UnixStream::pair()?;
        let owner = std::process::id();
        let memory = if start.bare { 0 } else { start.memory.unwrap_or_else(|| alloc::limit().max(LEAST_MEMORY)) };
        let child = executable::spawn(|command| {
            command.arg0("opforge-worker").arg(owner.to_string()).arg(if start.bare { "bare" } else { "guarded" });
            command.arg(memory.to_string()).arg(&start.library);
            command.envs(start.environment.iter().map(|(name, value)| (name, value)));
            command.stdin(OwnedFd::from(theirs.try_clone()?)).stdout(region.try_clone()?).process_group(0);
            if let Some(output) = &start.output {
                command.stderr(output.try_clone()?);
            }
            Ok(())
        })?;
        Ok(Process { child, socket: Some(socket), region, memory, limit: Duration::ZERO, owner, ended: None })
    }

    /// The memory that both processes see.
    pub fn region(&self) -> &File {
        &self.region
    }

    /// What the worker was refused of the memory that it asked for during the last request, if it was.
    pub fn refusal(&self) -> Option<Refusal> {
        Refusal::read(&self.region, self.memory)
    }

    /// Whether this process started the worker, rather than one that it was forked from.
    pub fn is_ours(&self) -> bool {
        self.owner == std::process::id()
    }

    /// Sends a request and waits for its answer. After an error, the worker has ended.
    pub fn exchange(&mut self, request: Request, limit: Duration, attended: bool) -> Result<Answer, Failure> {
        let sent = self.send(&request.finish(), limit);
        if attended && sent.is_ok() {
            self.wait(limit)?;
        }
        let answer = sent.and_then(|()| self.receive(limit));
        answer.map_err(|error| Failure::Death(self.bury(error, limit)))
    }

    fn send(&mut self, request: &[u8], limit: Duration) -> io::Result<()> {
        let socket = self.socket.as_ref().ok_or(Errno::PIPE)?;
        if self.limit != limit {
            socket.set_read_timeout(Some(limit))?;
            socket.set_write_timeout(Some(limit))?;
            self.limit = limit;
        }
        let deadline = Instant::now().checked_add(limit);
        let mut sent = 0;
        while sent < request.len() {
            sent += again(deadline, || rustix::net::send(socket, &request[sent..], QUIETLY))?;
        }
        Ok(())
    }

    /// Waits for an answer to begin, in the front end's way.
    fn wait(&mut self, limit: Duration) -> Result<(), Failure> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let start = Instant::now();
        let mut is_late = false;
        let waited = vm::wait(&mut |at_most| {
            let left = limit.saturating_sub(start.elapsed());
            let timeout = Timespec::try_from(at_most.min(left)).ok();
            let polled = poll(&mut [PollFd::new(socket, PollFlags::IN)], timeout.as_ref());
            is_late = polled == Ok(0) && left.is_zero();
            is_late || !matches!(polled, Ok(0) | Err(Errno::INTR))
        });
        match waited {
            Err(error) => {
                self.bury(Errno::TIMEDOUT.into(), limit);
                Err(Failure::Interrupted(error))
            }
            Ok(()) if is_late => Err(Failure::Death(self.bury(Errno::TIMEDOUT.into(), limit))),
            Ok(()) => Ok(()),
        }
    }

    fn receive(&mut self, limit: Duration) -> io::Result<Answer> {
        let socket = self.socket.as_ref().ok_or(Errno::PIPE)?;
        let deadline = Instant::now().checked_add(limit);
        let mut bytes = vec![0; 4096];
        let mut received = 0;
        let mut wanted = HEADER;
        while received < wanted {
            match again(deadline, || rustix::net::recv(socket, &mut bytes[received..], RecvFlags::empty()))? {
                (0, _) => return Err(Errno::PIPE.into()),
                (count, _) => received += count,
            }
            if let Some(header) = bytes[..received].first_chunk::<HEADER>() {
                let length = answer_length(header).filter(|&length| length <= LARGEST_ANSWER);
                wanted = HEADER + length.ok_or_else(|| io::Error::other("it sent something else than an answer"))?;
                bytes.resize(wanted.max(received), 0);
            }
        }
        bytes.drain(..HEADER);
        Ok(Answer::new(bytes))
    }

    /// Ends a worker with which an exchange failed, and says how it ended.
    fn bury(&mut self, error: io::Error, limit: Duration) -> Death {
        let is_late = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
        let patience = if is_late { Duration::ZERO } else { PATIENCE };
        match self.end(patience) {
            Ok(_) if is_late => Death::Limit(limit),
            Ok((status, true)) if error.kind() != io::ErrorKind::Other => {
                Death::of(status, &self.region, self.refusal())
            }
            Ok(_) => Death::Broken(error.to_string()),
            Err(lost) => Death::Broken(format!("{error}; {lost}")),
        }
    }

    /// Waits for the worker to end, ends it if that takes long, and whatever it started too. Says whether it ended by itself.
    fn end(&mut self, patience: Duration) -> io::Result<(ExitStatus, bool)> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        self.socket = None;
        let deadline = Instant::now() + patience;
        let mut by_itself = self.has_ended()?;
        while !by_itself && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(100));
            by_itself = self.has_ended()?;
        }
        // Fails only for a group that has ended already.
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let ended = (self.child.wait()?, by_itself);
        self.ended = Some(ended);
        Ok(ended)
    }

    /// Whether it has ended; it is not reaped, so that its number stays its own.
    fn has_ended(&self) -> io::Result<bool> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_ours() {
            // Nobody is left to be told of an error.
            let _ = self.end(PATIENCE);
        }
    }
}

/// Memory that processes share as a file, and that goes with the last of them.
#[cfg(target_os = "linux")]
fn memory() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("opforge-region", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn memory() -> io::Result<File> {
    tempfile::tempfile()
}

/// Calls until it is not interrupted, up to a deadline.
fn again<T>(deadline: Option<Instant>, mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
            Err(Errno::INTR) => return Err(Errno::AGAIN.into()),
            done => return Ok(done?),
        }
    }
}
