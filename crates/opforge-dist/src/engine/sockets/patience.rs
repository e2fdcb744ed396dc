//! Waiting that ends: at a limit, or when the program does not want to wait any more.

use std::io::{ErrorKind, Read, Result};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::engine::deadline;

/// How long a wait goes without asking whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// How long to wait.
pub(super) struct Patience<'a> {
    until: Instant,
    go_on: &'a dyn Fn() -> bool,
}

impl<'a> Patience<'a> {
    /// As long as `limit` from now on, and as `go_on` says so.
    pub fn new(limit: Duration, go_on: &'a dyn Fn() -> bool) -> Self {
        Patience { until: deadline(limit), go_on }
    }

    /// How long a step may take, `most` at most; none at the end.
    pub fn step(&self, most: Duration) -> Option<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        (left > Duration::ZERO && (self.go_on)()).then(|| left.min(most))
    }

    /// Lets a moment pass; whether there is time left.
    pub fn pause(&self, moment: Duration) -> bool {
        let step = self.step(moment);
        std::thread::sleep(step.unwrap_or_default());
        step.is_some()
    }

    /// Fills `bytes` from a stream.
    ///
    /// # Errors
    /// Of the connection; `TimedOut` at the end.
    pub fn read(&self, mut stream: &TcpStream, bytes: &mut [u8]) -> Result<()> {
        let mut start = 0;
        while start < bytes.len() {
            stream.set_read_timeout(Some(self.step(SLICE).ok_or(ErrorKind::TimedOut)?))?;
            match stream.read(&mut bytes[start..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => start += count,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }
}
