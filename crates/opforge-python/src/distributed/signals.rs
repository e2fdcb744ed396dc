//! Signals while Rust waits for other processes: Ctrl-C ends the wait.

use std::sync::{Mutex, PoisonError, mpsc};

use opforge::{Error, Result};
use pyo3::prelude::*;

use super::world::PATIENCE;
use crate::error::OrRaise;

/// What signal handlers raise while a wait goes on without the interpreter's lock.
#[derive(Default)]
pub struct Signals(Mutex<Option<PyErr>>);

impl Signals {
    /// Whether no handler has raised anything.
    pub fn check(&self) -> bool {
        let raised = Python::attach(|py| py.check_signals()).err();
        let is_quiet = raised.is_none();
        if !is_quiet {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = raised;
        }
        is_quiet
    }

    /// # Errors
    /// What a handler has raised.
    pub fn raise(self) -> PyResult<()> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Runs what waits for other processes in a thread of its own, so that Ctrl-C ends the wait; the thread stays until its own limit then.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    wait: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (send, result) = mpsc::channel();
    let result = Mutex::new(result);
    // Nobody listens any more after Ctrl-C.
    let run = move || drop(send.send(wait()));
    std::thread::Builder::new().name("opforge-waits".into()).spawn(run)?;
    loop {
        let received = py.detach(|| result.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE));
        match received {
            Ok(result) => return result.or_raise(py),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Error::msg("a thread that waited for other processes panicked")).or_raise(py);
            }
        }
    }
}
