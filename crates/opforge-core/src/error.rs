//! Errors: what was wrong with a call, by class.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::DType;

/// A result whose error is opforge's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What was wrong with a call: the operator, its arguments as given, and what it accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The operator or function that was called.
    pub op: Cow<'static, str>,
    /// Each offending argument and how it was given.
    pub given: Vec<(Cow<'static, str>, String)>,
    /// What would have been right; may be empty.
    pub accepted: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.op)?;
        for (argument, given) in &self.given {
            write!(f, ", {argument}: {given}")?;
        }
        if !self.accepted.is_empty() {
            write!(f, " (accepted: {})", self.accepted)?;
        }
        Ok(())
    }
}

/// What went wrong with an operator that a user brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomFault {
    /// The operator's name; empty where it is not known yet.
    pub op: String,
    /// The library, or the source file that it is made from.
    pub library: String,
    /// The function in it; empty where the fault is not in one.
    pub function: String,
    /// What happened, as the compiler, the loader or the kernel says it.
    pub message: String,
}

impl fmt::Display for CustomFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CustomFault { op, library, function, message } = self;
        let (space, colon) = (if op.is_empty() { "" } else { " " }, if function.is_empty() { "" } else { ":" });
        write!(f, "custom operator{space}{op} ({library}{colon}{function}): {message}")
    }
}

/// Everything that can go wrong, by class. Front ends map classes to their own exceptions with [`Error::kind`].
#[derive(thiserror::Error, Debug, Clone)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Error {
    #[error("shape mismatch in {0}")]
    Shape(Box<Report>),
    #[error("dtype mismatch in {0}")]
    DType(Box<Report>),
    #[error("device mismatch in {0}")]
    Device(Box<Report>),
    #[error("index out of range in {0}")]
    Index(Box<Report>),
    /// An argument that is neither a shape, a dtype, a device nor an index.
    #[error("invalid argument in {0}")]
    Value(Box<Report>),
    #[error("unsupported dtype {0} for op {1}")]
    UnsupportedDTypeForOp(DType, &'static str),
    #[error("{msg}, expected: {expected}, got: {got}")]
    UnexpectedDType { msg: &'static str, expected: DType, got: DType },
    /// Sizes in bytes.
    #[error("out of memory: {requested} bytes requested, {in_use} in use, limit {limit}")]
    OutOfMemory { requested: usize, in_use: usize, limit: usize },
    /// Misuse of gradients: a changed saved tensor, an in-place write to a leaf, a graph used twice.
    #[error("autograd error in {0}")]
    Autograd(Box<Report>),
    /// A kernel failed or panicked; what it would have written is unusable.
    #[error("kernel of {op} failed: {message}")]
    Kernel { op: Cow<'static, str>, message: String },
    /// Whoever waited for a kernel gave up, and it was told to stop; what it would have written is unusable.
    #[error("interrupted: the computation was stopped before its end")]
    Interrupted,
    /// A custom operator that cannot be built or loaded, or whose kernel failed.
    #[error("{0}")]
    CustomOp(Box<CustomFault>),
    /// A file's content contradicts its format.
    #[error("malformed {format} data: {message}")]
    Format { format: &'static str, message: String },
    #[error("cannot find tensor {path}")]
    CannotFindTensor { path: String },
    #[error("{0}")]
    Io(Arc<std::io::Error>),
    #[error("{0}")]
    Msg(String),
    /// An error of another library.
    #[error("{0}")]
    Wrapped(Arc<dyn std::error::Error + Send + Sync>),
    /// An error that surfaced after the call that caused it had returned.
    /// `caller` is the place of the call in another language, where a front end knows it.
    #[error("{inner} (raised by {op}, called at {})", caller.as_deref().map_or_else(|| at.to_string(), str::to_owned))]
    Deferred { op: Cow<'static, str>, at: &'static Location<'static>, caller: Option<Arc<str>>, inner: Box<Error> },
    #[error("{context}\n  caused by: {inner}")]
    Context { context: String, inner: Box<Error> },
    #[error("{inner}\n{backtrace}")]
    WithBacktrace { inner: Box<Error>, backtrace: Arc<std::backtrace::Backtrace> },
}

/// The classes of [`Error`], without their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ErrorKind {
    Shape,
    DType,
    Device,
    Index,
    Value,
    OutOfMemory,
    Autograd,
    Kernel,
    Interrupted,
    CustomOp,
    Format,
    Io,
    Other,
}

macro_rules! report_constructors {
    ($($(#[$doc:meta])* $name:ident => $variant:ident),*) => {
        $($(#[$doc])*
        #[cold]
        pub fn $name(
            op: impl Into<Cow<'static, str>>,
            argument: impl Into<Cow<'static, str>>,
            given: impl fmt::Display,
            accepted: impl fmt::Display,
        ) -> Self {
            let given = vec![(argument.into(), given.to_string())];
            Error::$variant(Box::new(Report { op: op.into(), given, accepted: accepted.to_string() }))
        })*
    };
}

impl Error {
    report_constructors!(
        /// A wrong shape, rank or number of elements.
        shape => Shape,
        /// A dtype that the operator does not take.
        dtype => DType,
        /// A device that the operator does not take.
        device => Device,
        /// An axis or index that is out of range.
        index => Index,
        /// Any other wrong argument.
        value => Value,
        /// Misuse of gradients.
        autograd => Autograd
    );

    /// Two arguments whose shapes do not go together.
    #[cold]
    pub fn shapes(
        op: impl Into<Cow<'static, str>>,
        lhs: impl fmt::Debug,
        rhs: impl fmt::Debug,
        accepted: impl fmt::Display,
    ) -> Self {
        Error::Shape(Self::pair(op, format!("{lhs:?}"), format!("{rhs:?}"), accepted))
    }

    /// Two arguments whose dtypes do not go together.
    #[cold]
    pub fn dtypes(op: impl Into<Cow<'static, str>>, lhs: DType, rhs: DType) -> Self {
        Error::DType(Self::pair(op, lhs.to_string(), rhs.to_string(), "equal dtypes"))
    }

    /// Two arguments that live on different devices.
    #[cold]
    pub fn devices(op: impl Into<Cow<'static, str>>, lhs: impl fmt::Display, rhs: impl fmt::Display) -> Self {
        Error::Device(Self::pair(op, lhs.to_string(), rhs.to_string(), "one device"))
    }

    fn pair(op: impl Into<Cow<'static, str>>, lhs: String, rhs: String, accepted: impl fmt::Display) -> Box<Report> {
        let given = vec![("lhs".into(), lhs), ("rhs".into(), rhs)];
        Box::new(Report { op: op.into(), given, accepted: accepted.to_string() })
    }

    /// A custom operator that cannot be built or loaded, or whose kernel failed. `op` and `function` may be empty.
    #[cold]
    pub fn custom(
        op: impl Into<String>,
        library: impl fmt::Display,
        function: impl Into<String>,
        message: impl fmt::Display,
    ) -> Self {
        let (library, message) = (library.to_string(), message.to_string());
        Error::CustomOp(Box::new(CustomFault { op: op.into(), library, function: function.into(), message }))
    }

    /// A file whose content contradicts its format.
    #[cold]
    pub fn format(format: &'static str, message: impl fmt::Display) -> Self {
        Error::Format { format, message: message.to_string() }
    }

    /// A free-form error.
    #[cold]
    pub fn msg(message: impl fmt::Display) -> Self {
        Error::Msg(message.to_string())
    }

    /// Wraps another library's error.
    #[cold]
    pub fn wrap(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Error::Wrapped(Arc::new(error))
    }

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

    /// The class of [`Self::root`].
    pub fn kind(&self) -> ErrorKind {
        match self.root() {
            Error::Shape(_) => ErrorKind::Shape,
            Error::DType(_) | Error::UnsupportedDTypeForOp(..) | Error::UnexpectedDType { .. } => ErrorKind::DType,
            Error::Device(_) => ErrorKind::Device,
            Error::Index(_) => ErrorKind::Index,
            Error::Value(_) => ErrorKind::Value,
            Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Error::Autograd(_) => ErrorKind::Autograd,
            Error::Kernel { .. } => ErrorKind::Kernel,
            Error::Interrupted => ErrorKind::Interrupted,
            Error::CustomOp(_) => ErrorKind::CustomOp,
            Error::Format { .. } => ErrorKind::Format,
            Error::Io(_) => ErrorKind::Io,
            _ => ErrorKind::Other,
        }
    }

    /// The report of the root error, for classes that have one.
    pub fn report(&self) -> Option<&Report> {
        match self.root() {
            Error::Shape(r) | Error::DType(r) | Error::Device(r) => Some(r),
            Error::Index(r) | Error::Value(r) | Error::Autograd(r) => Some(r),
            _ => None,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Error::Io(Arc::new(e))
    }
}

/// Adds context to the error of a `Result`, or turns `None` into an error.
pub trait Context<T> {
    /// The same value, or an error that says what was being done.
    fn context(self, context: impl fmt::Display) -> Result<T>;
    /// As [`Context::context`], with the text made only when it is needed.
    fn with_context<C: fmt::Display>(self, context: impl FnOnce() -> C) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    fn context(self, context: impl fmt::Display) -> Result<T> {
        self.map_err(|e| e.context(context))
    }
    fn with_context<C: fmt::Display>(self, context: impl FnOnce() -> C) -> Result<T> {
        self.map_err(|e| e.context(context()))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, context: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Error::msg(context))
    }
    fn with_context<C: fmt::Display>(self, context: impl FnOnce() -> C) -> Result<T> {
        self.ok_or_else(|| Error::msg(context()))
    }
}
