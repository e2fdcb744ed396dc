//! The error of a kernel.

use std::fmt;

/// What went wrong, as a text for whoever called the operator.
///
/// A kernel may return any error that can be displayed; this one turns into most of them by `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of this text.
    pub fn new(text: impl fmt::Display) -> Self {
        Error(text.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.0
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Error(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Error::new(text)
    }
}
