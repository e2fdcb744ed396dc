//! Classes of errors.

/// The classes of [`Error`](super::Error), without their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ErrorKind {
    Shape,
    DType,
    Device,
    Index,
    Value,
    Linalg,
    OutOfMemory,
    Autograd,
    Kernel,
    Interrupted,
    CustomOp,
    Format,
    Io,
    Other,
}
