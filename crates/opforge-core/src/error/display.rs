//! What errors print.

use std::fmt;

use super::{Error, ErrorKind};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(report) = self.own_report() {
            return match self.kind() {
                ErrorKind::Shape => write!(f, "shape mismatch in {report}"),
                ErrorKind::DType => write!(f, "dtype mismatch in {report}"),
                ErrorKind::Device => write!(f, "device mismatch in {report}"),
                ErrorKind::Index => write!(f, "index out of range in {report}"),
                ErrorKind::Autograd => write!(f, "autograd error in {report}"),
                _ => write!(f, "invalid argument in {report}"),
            };
        }
        match self {
            Error::UnsupportedDTypeForOp(dtype, op) => write!(f, "unsupported dtype {dtype} for op {op}"),
            Error::UnexpectedDType { msg, expected, got } => write!(f, "{msg}, expected: {expected}, got: {got}"),
            Error::OutOfMemory { requested, in_use, limit } => {
                write!(f, "out of memory: {requested} bytes requested, {in_use} in use, limit {limit}")
            }
            Error::Kernel { op, message } => write!(f, "kernel of {op} failed: {message}"),
            Error::Interrupted => f.write_str("interrupted: the computation was stopped before its end"),
            Error::CustomOp(fault) => fault.fmt(f),
            Error::Format { format, message } => write!(f, "malformed {format} data: {message}"),
            Error::CannotFindTensor { path } => write!(f, "cannot find tensor {path}"),
            Error::TryFromIntError(error) => error.fmt(f),
            Error::ParseInt(error) => error.fmt(f),
            Error::FromUtf8(error) => error.fmt(f),
            Error::Io(error) => error.fmt(f),
            Error::Msg(message) => f.write_str(message),
            Error::UnwrapNone => f.write_str("something that was expected is missing"),
            Error::Wrapped(error) => error.fmt(f),
            Error::Deferred { op, at, caller, inner } => {
                let place = caller.as_deref().map_or_else(|| at.to_string(), str::to_owned);
                write!(f, "{inner} (raised by {op}, called at {place})")
            }
            Error::Context { context, inner } => write!(f, "{context}\n  caused by: {inner}"),
            Error::WithBacktrace { inner, backtrace } => write!(f, "{inner}\n{backtrace}"),
            // All others have a report.
            other => write!(f, "{other:?}"),
        }
    }
}
