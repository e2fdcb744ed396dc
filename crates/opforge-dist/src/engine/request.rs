//! Requests: calls under way, and waiting for them.

use std::fmt;
use std::time::{Duration, Instant};

use opforge_core::{Error, Result};
use opforge_runtime::checkpoint;

use crate::{Buffer, Fault};

/// How long waiters wait by default.
pub const LIMIT: Duration = Duration::from_secs(10);

/// What a look at a call under way shows.
#[derive(Debug)]
pub enum Poll {
    /// It goes on.
    Pending,
    /// It is done; the call's `recv` buffer.
    Done(Buffer),
}

/// A call under way, as an engine makes it.
pub trait Progress: Send {
    /// Goes on without waiting. It is not called again after it has returned [`Poll::Done`] or an error.
    ///
    /// # Errors
    /// Failures of the engine, ranks that are lost.
    fn poll(&mut self) -> Result<Poll>;

    /// Waits a little, until there may be news, or until `until`. `round` counts the waits.
    fn pause(&self, round: u32, until: Instant) {
        back_off(round, until);
    }
}

/// The moment so much later; some decades for what the clock cannot say.
pub(crate) fn deadline(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_secs(1 << 30))
}

/// First this thread stays awake, then it lets others run, then it sleeps: an engine that makes progress only while it is asked cannot sleep long.
pub(crate) fn back_off(round: u32, until: Instant) {
    match round {
        0..200 => std::hint::spin_loop(),
        200..20_000 => std::thread::yield_now(),
        _ => std::thread::sleep(Duration::from_micros(100).min(until.saturating_duration_since(Instant::now()))),
    }
}

/// A call under way. Dropping it gives it up: the engine keeps its buffers until nothing uses them any more.
pub struct Request {
    call: String,
    state: State,
}

enum State {
    Running(Box<dyn Progress>),
    Done(Buffer),
    /// Failed, or its buffer was handed out.
    Over,
}

impl Request {
    /// A call that goes on as `progress` says; `call` is its name in errors.
    pub fn new(call: impl Into<String>, progress: impl Progress + 'static) -> Self {
        Request { call: call.into(), state: State::Running(Box::new(progress)) }
    }

    /// A call that is done.
    pub fn done(call: impl Into<String>, buffer: Buffer) -> Self {
        Request { call: call.into(), state: State::Done(buffer) }
    }

    /// Whether the call is done. It goes on while it is asked.
    ///
    /// # Errors
    /// The call has failed.
    pub fn test(&mut self) -> Result<bool> {
        match &mut self.state {
            State::Done(_) => Ok(true),
            State::Over => Err(self.over()),
            State::Running(progress) => match progress.poll() {
                Ok(Poll::Pending) => Ok(false),
                Ok(Poll::Done(buffer)) => {
                    self.state = State::Done(buffer);
                    Ok(true)
                }
                Err(error) => {
                    self.state = State::Over;
                    Err(error)
                }
            },
        }
    }

    /// Waits until the call is done or `until` has come; whether it is done.
    ///
    /// # Errors
    /// As [`Request::test`].
    pub fn wait_until(&mut self, until: Instant) -> Result<bool> {
        let mut round = 0;
        loop {
            // Of a kernel, nobody may wait any more.
            checkpoint();
            if self.test()? {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            self.pause(round, until);
            round = round.saturating_add(1);
        }
    }

    /// The call's result, within a limit.
    ///
    /// # Errors
    /// As [`Request::test`]; [`Fault::TimedOut`], after which the call is given up.
    pub fn wait(mut self, limit: Duration) -> Result<Buffer> {
        if !self.wait_until(deadline(limit))? {
            return Err(Fault::TimedOut { call: std::mem::take(&mut self.call), waited: limit }.into());
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Done(buffer) => Ok(buffer),
            _ => Err(self.over()),
        }
    }

    pub(crate) fn pause(&self, round: u32, until: Instant) {
        if let State::Running(progress) = &self.state {
            progress.pause(round, until);
        }
    }

    #[cold]
    fn over(&self) -> Error {
        Error::value("wait", "request", "one that is over", "a request that has neither failed nor given its result")
            .context(&self.call)
    }
}

impl Progress for Request {
    fn poll(&mut self) -> Result<Poll> {
        if !self.test()? {
            return Ok(Poll::Pending);
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Done(buffer) => Ok(Poll::Done(buffer)),
            _ => Err(self.over()),
        }
    }

    fn pause(&self, round: u32, until: Instant) {
        Request::pause(self, round, until);
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Running(_) => "running",
            State::Done(_) => "done",
            State::Over => "over",
        };
        write!(f, "Request({}, {state})", self.call)
    }
}
