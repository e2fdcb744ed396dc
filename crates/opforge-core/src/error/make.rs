//! Errors from what was wrong.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::convert::Foreign;
use super::known::equal_dtypes;
use super::{CustomFault, Error, RefusedShape, Report};
use crate::{DType, Shape};

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
        /// A matrix that cannot be factored, inverted or solved with.
        linalg => Linalg,
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
        match op.into() {
            Cow::Borrowed(op) => Error::DTypeMismatchBinaryOp { lhs, rhs, op },
            op => Error::DType(Self::pair(op, lhs.to_string(), rhs.to_string(), equal_dtypes(lhs, rhs))),
        }
    }

    /// Two arguments whose shapes an operator does not take together, by candle's name.
    #[cold]
    pub fn binary_shapes(op: &'static str, lhs: &Shape, rhs: &Shape) -> Self {
        Error::ShapeMismatchBinaryOp { lhs: Box::new(lhs.clone()), rhs: Box::new(rhs.clone()), op }
    }

    /// A shape of another rank than the one that an operator takes.
    #[cold]
    pub fn rank(op: &'static str, expected: usize, shape: &Shape) -> Self {
        let (got, shape) = (shape.rank(), Box::new(RefusedShape::by(op, shape.clone())));
        Error::UnexpectedNumberOfDims { expected, got, shape }
    }

    /// A dimension that a shape lacks; those from the end are negative.
    #[cold]
    pub fn no_dim(op: &'static str, dim: i64, shape: &Shape) -> Self {
        let dim = i32::try_from(dim).unwrap_or(if dim < 0 { i32::MIN } else { i32::MAX });
        Error::DimOutOfRange { shape: Box::new(shape.clone()), dim, op }
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

    /// A free-form error, of what [`fmt::Debug`] shows.
    #[cold]
    pub fn debug(value: impl fmt::Debug) -> Self {
        Error::Msg(format!("{value:?}"))
    }

    /// Wraps another library's error, or anything that can be shown.
    #[cold]
    pub fn wrap(error: impl fmt::Display + Send + Sync + 'static) -> Self {
        Error::Wrapped(Arc::new(Foreign(error)))
    }
}
