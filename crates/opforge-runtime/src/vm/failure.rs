//! Why the outputs of an instruction are unusable.

use std::any::Any;
use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::Error;

/// Where a call was made.
#[derive(Clone)]
pub(crate) struct Place {
    /// In Rust.
    pub at: &'static Location<'static>,
    /// In the language of a front end.
    pub caller: Option<Arc<str>>,
}

impl From<&'static Location<'static>> for Place {
    fn from(at: &'static Location<'static>) -> Self {
        Place { at, caller: None }
    }
}

/// Why the outputs of an instruction are unusable.
pub(crate) struct Failure {
    error: Error,
    observed: AtomicBool,
}

impl Failure {
    pub fn new(op: Cow<'static, str>, at: Place, inner: Error) -> Arc<Self> {
        let Place { at, caller } = at;
        let error = Error::Deferred { op, at, caller, inner: Box::new(inner) };
        Arc::new(Failure { error, observed: AtomicBool::new(false) })
    }

    /// That of a call which was interrupted: the user knows.
    pub fn interrupted(op: Cow<'static, str>, at: Place) -> Arc<Self> {
        let failure = Failure::new(op, at, Error::Interrupted);
        failure.deliver();
        failure
    }

    /// The error, for others than the user.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The error, to be given to the user.
    pub fn deliver(&self) -> Error {
        self.observed.store(true, Ordering::Relaxed);
        self.error.clone()
    }

    /// Whether the user has been given the error.
    pub fn is_observed(&self) -> bool {
        self.observed.load(Ordering::Relaxed)
    }
}

/// The error for a kernel that panicked with this payload.
pub(super) fn panic_error(op: &str, payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::Kernel { op: op.to_owned().into(), message: format!("panic: {text}") }
}
