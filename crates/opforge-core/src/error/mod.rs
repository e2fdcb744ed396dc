//! Errors: what was wrong with a call, by class.
//!
//! Errors have candle's names where candle has one: programs match their fields, and `known.rs` gives each the operator, what was given and what is
//! accepted, as all other errors have them. Shapes in errors are boxed: a [`Result`] is as large as its largest error, and every call of an operator
//! passes several on.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::{DType, DeviceLocation, Layout, Shape};

mod context;
mod convert;
mod display;
mod kind;
mod known;
mod make;
mod refused;
mod report;

pub use context::Context;
use convert::Foreign;
pub use kind::ErrorKind;
pub use refused::RefusedShape;
pub use report::{CustomFault, Report};

/// A result whose error is opforge's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, by class. Front ends map classes to their own exceptions with [`Error::kind`].
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Error {
    Shape(Box<Report>),
    DType(Box<Report>),
    Device(Box<Report>),
    Index(Box<Report>),
    /// An argument that is neither a shape, a dtype, a device nor an index.
    Value(Box<Report>),
    /// A matrix that cannot be factored, inverted or solved with.
    Linalg(Box<Report>),
    UnsupportedDTypeForOp(DType, &'static str),
    UnexpectedDType {
        msg: &'static str,
        expected: DType,
        got: DType,
    },
    DTypeMismatchBinaryOp {
        lhs: DType,
        rhs: DType,
        op: &'static str,
    },
    DimOutOfRange {
        shape: Box<Shape>,
        dim: i32,
        op: &'static str,
    },
    DuplicateDimIndex {
        shape: Box<Shape>,
        dims: Vec<usize>,
        op: &'static str,
    },
    UnexpectedNumberOfDims {
        expected: usize,
        got: usize,
        shape: Box<RefusedShape>,
    },
    UnexpectedShape {
        msg: String,
        expected: Box<Shape>,
        got: Box<Shape>,
    },
    ShapeMismatch {
        buffer_size: usize,
        shape: Box<Shape>,
    },
    ShapeMismatchBinaryOp {
        lhs: Box<Shape>,
        rhs: Box<Shape>,
        op: &'static str,
    },
    ShapeMismatchCat {
        dim: usize,
        first_shape: Box<Shape>,
        n: usize,
        nth_shape: Box<Shape>,
    },
    ShapeMismatchSplit {
        shape: Box<Shape>,
        dim: usize,
        n_parts: usize,
    },
    OnlySingleDimension {
        op: &'static str,
        dims: Vec<usize>,
    },
    EmptyTensor {
        op: &'static str,
    },
    DeviceMismatchBinaryOp {
        lhs: DeviceLocation,
        rhs: DeviceLocation,
        op: &'static str,
    },
    NarrowInvalidArgs {
        shape: Box<Shape>,
        dim: usize,
        start: usize,
        len: usize,
        msg: &'static str,
    },
    Conv1dInvalidArgs {
        inp_shape: Box<Shape>,
        k_shape: Box<Shape>,
        padding: usize,
        stride: usize,
        msg: &'static str,
    },
    InvalidIndex {
        op: &'static str,
        index: usize,
        size: usize,
    },
    BroadcastIncompatibleShapes {
        src_shape: Box<Shape>,
        dst_shape: Box<Shape>,
    },
    CannotSetVar {
        msg: &'static str,
    },
    MatMulUnexpectedStriding(Box<MatMulUnexpectedStriding>),
    RequiresContiguous {
        op: &'static str,
    },
    OpRequiresAtLeastOneTensor {
        op: &'static str,
    },
    OpRequiresAtLeastTwoTensors {
        op: &'static str,
    },
    BackwardNotSupported {
        op: &'static str,
    },
    NotCompiledWithCudaSupport,
    NotCompiledWithMetalSupport,
    /// Sizes in bytes.
    OutOfMemory {
        requested: usize,
        in_use: usize,
        limit: usize,
    },
    /// Misuse of gradients: a changed saved tensor, an in-place write to a leaf, a graph used twice.
    Autograd(Box<Report>),
    /// A kernel failed or panicked; what it would have written is unusable.
    Kernel {
        op: Cow<'static, str>,
        message: String,
    },
    /// Whoever waited for a kernel gave up, and it was told to stop; what it would have written is unusable.
    Interrupted,
    /// A custom operator that cannot be built or loaded, or whose kernel failed.
    CustomOp(Box<CustomFault>),
    /// A file's content contradicts its format.
    Format {
        format: &'static str,
        message: String,
    },
    CannotFindTensor {
        path: String,
    },
    TryFromIntError(std::num::TryFromIntError),
    ParseInt(std::num::ParseIntError),
    FromUtf8(Arc<std::string::FromUtf8Error>),
    Io(Arc<std::io::Error>),
    Msg(String),
    /// Something that was there is missing.
    UnwrapNone,
    /// An error of another library.
    Wrapped(Arc<dyn std::error::Error + Send + Sync>),
    /// An error that surfaced after the call that caused it had returned.
    /// `caller` is the place of the call in another language, where a front end knows it.
    Deferred {
        op: Cow<'static, str>,
        at: &'static Location<'static>,
        caller: Option<Arc<str>>,
        inner: Box<Error>,
    },
    Context {
        context: String,
        inner: Box<Error>,
    },
    WithBacktrace {
        inner: Box<Error>,
        backtrace: Arc<std::backtrace::Backtrace>,
    },
}

/// Layouts of matrices that a kernel of the program's own does not take; opforge's products take all.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct MatMulUnexpectedStriding {
    pub lhs_l: Layout,
    pub rhs_l: Layout,
    /// Batch, rows, columns, and the length of the sums.
    pub bmnk: (usize, usize, usize, usize),
    pub msg: &'static str,
}

impl std::error::Error for Error {}

impl Error {
    /// Attaches a backtrace when `RUST_BACKTRACE` is set; otherwise returns the error unchanged.
    #[cold]
    pub fn bt(self) -> Self {
        let backtrace = std::backtrace::Backtrace::capture();
        match backtrace.status() {
            std::backtrace::BacktraceStatus::Captured => {
                Error::WithBacktrace { inner: Box::new(self), backtrace: Arc::new(backtrace) }
            }
            _ => self,
        }
    }

    /// Adds a line that says what was being done.
    #[cold]
    pub fn context(self, context: impl fmt::Display) -> Self {
        Error::Context { context: context.to_string(), inner: Box::new(self) }
    }

    /// Says which file it was about.
    #[cold]
    pub fn with_path<P: AsRef<std::path::Path>>(self, path: P) -> Self {
        self.context(format!("path: {}", path.as_ref().display()))
    }

    /// The error without the wrappers that say when, where and while doing what it arose.
    pub fn root(&self) -> &Error {
        match self {
            Error::Deferred { inner, .. } | Error::Context { inner, .. } | Error::WithBacktrace { inner, .. } => {
                inner.root()
            }
            other => other,
        }
    }

    /// What [`Error::wrap`] was given.
    pub fn wrapped<E: fmt::Display + 'static>(&self) -> Option<&E> {
        match self {
            Error::Wrapped(error) => error.downcast_ref::<Foreign<E>>().map(|foreign| &foreign.0),
            _ => None,
        }
    }

    /// The class of [`Self::root`].
    pub fn kind(&self) -> ErrorKind {
        match self.root() {
            Error::Shape(_) => ErrorKind::Shape,
            Error::DType(_) | Error::UnsupportedDTypeForOp(..) | Error::UnexpectedDType { .. } => ErrorKind::DType,
            Error::Device(_) => ErrorKind::Device,
            Error::Index(_) => ErrorKind::Index,
            Error::Value(_) => ErrorKind::Value,
            Error::Linalg(_) => ErrorKind::Linalg,
            Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Error::Autograd(_) => ErrorKind::Autograd,
            Error::Kernel { .. } => ErrorKind::Kernel,
            Error::Interrupted => ErrorKind::Interrupted,
            Error::CustomOp(_) => ErrorKind::CustomOp,
            Error::Format { .. } => ErrorKind::Format,
            Error::Io(_) => ErrorKind::Io,
            known => known.known_kind(),
        }
    }

    /// The report of the root error, for classes that have one.
    pub fn report(&self) -> Option<Cow<'_, Report>> {
        self.root().own_report()
    }

    fn own_report(&self) -> Option<Cow<'_, Report>> {
        match self {
            Error::Shape(r) | Error::DType(r) | Error::Device(r) => Some(Cow::Borrowed(r)),
            Error::Index(r) | Error::Value(r) | Error::Linalg(r) | Error::Autograd(r) => Some(Cow::Borrowed(r)),
            known => known.known_report().map(Cow::Owned),
        }
    }
}
