//! Errors of data that is to become a tensor, with the place in the nested lists.

use std::fmt::Write;

use opforge::Error;
use pyo3::prelude::*;

use crate::error::raise;

/// What is wrong with data that is to become a tensor, and where in the nested lists.
pub struct Fault {
    /// The indices that lead there, innermost first.
    place: Vec<usize>,
    cause: Cause,
}

enum Cause {
    /// A thing of the wrong type; what is accepted.
    Kind(String, &'static str),
    /// A list that does not fit the others; what would.
    Shape(String, String),
    /// A number out of range; the range.
    Range(String, String),
    /// An error of an operator.
    Error(Error),
    /// What Python code raised.
    Raised(PyErr),
}

impl Fault {
    fn new(cause: Cause) -> Self {
        Fault { place: Vec::new(), cause }
    }

    #[cold]
    pub fn kind(given: impl Into<String>, accepted: &'static str) -> Self {
        Self::new(Cause::Kind(given.into(), accepted))
    }

    #[cold]
    pub fn shape(given: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self::new(Cause::Shape(given.into(), accepted.into()))
    }

    #[cold]
    pub fn range(given: impl ToString, accepted: impl Into<String>) -> Self {
        Self::new(Cause::Range(given.to_string(), accepted.into()))
    }

    /// The same within item `i` of a list.
    #[cold]
    pub fn within(mut self, i: usize) -> Self {
        self.place.push(i);
        self
    }

    /// The exception, which names the place: `data[1][2]`.
    pub fn raise(self, py: Python<'_>, op: &'static str) -> PyErr {
        let mut place = String::from("data");
        self.place.iter().rev().for_each(|i| {
            let _ = write!(place, "[{i}]");
        });
        let error = match self.cause {
            Cause::Kind(given, accepted) => Error::dtype(op, place, given, accepted),
            Cause::Shape(given, accepted) => Error::shape(op, place, given, accepted),
            Cause::Range(given, accepted) => Error::value(op, place, given, accepted),
            Cause::Error(error) => error,
            Cause::Raised(raised) => return raised,
        };
        raise(py, &error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::new(Cause::Error(error))
    }
}

impl From<PyErr> for Fault {
    fn from(raised: PyErr) -> Self {
        Self::new(Cause::Raised(raised))
    }
}
