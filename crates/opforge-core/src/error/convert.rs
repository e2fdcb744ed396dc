//! Errors of other libraries.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Error;

/// An error of the system's, and the file that it is about.
#[derive(Debug)]
struct OfFile {
    path: PathBuf,
    error: Arc<io::Error>,
}

impl fmt::Display for OfFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "opening {}: {}", self.path.display(), self.error)
    }
}
impl std::error::Error for OfFile {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Error {
    /// Says which file could not be opened. [`Error::Io`] stays what it is, with its kind, so that programs can match it.
    #[cold]
    pub fn opening<P: AsRef<Path>>(self, path: P) -> Self {
        let path = path.as_ref();
        match self {
            Error::Io(error) => {
                let kind = error.kind();
                Error::Io(Arc::new(io::Error::new(kind, OfFile { path: path.to_owned(), error })))
            }
            other => other.context(format!("opening {}", path.display())),
        }
    }

    /// The number of the system's error that is the root of this one.
    pub fn os_number(&self) -> Option<i32> {
        let Error::Io(error) = self.root() else { return None };
        let named = error.get_ref().and_then(|inner| inner.downcast_ref::<OfFile>());
        named.map_or(error.raw_os_error(), |named| named.error.raw_os_error())
    }
}

/// Something that can be shown, as an error.
pub(super) struct Foreign<E>(pub E);

impl<E: fmt::Display> fmt::Debug for Foreign<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl<E: fmt::Display> fmt::Display for Foreign<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl<E: fmt::Display> std::error::Error for Foreign<E> {}

impl From<std::num::TryFromIntError> for Error {
    fn from(e: std::num::TryFromIntError) -> Self {
        Error::TryFromIntError(e)
    }
}
impl From<std::num::ParseIntError> for Error {
    fn from(e: std::num::ParseIntError) -> Self {
        Error::ParseInt(e)
    }
}
impl From<std::string::FromUtf8Error> for Error {
    fn from(e: std::string::FromUtf8Error) -> Self {
        Error::FromUtf8(Arc::new(e))
    }
}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Error::Io(Arc::new(e))
    }
}
