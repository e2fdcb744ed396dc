//! Shapes that an operator did not take, in errors whose fields are candle's and do not name it.

use std::fmt;
use std::ops::Deref;

use crate::Shape;

/// A shape, and the operator that did not take it, where one is known.
#[derive(Clone, PartialEq, Eq)]
pub struct RefusedShape {
    op: Option<&'static str>,
    shape: Shape,
}

impl RefusedShape {
    /// The shape that an operator did not take.
    pub fn by(op: &'static str, shape: Shape) -> Self {
        RefusedShape { op: Some(op), shape }
    }

    /// The operator's name.
    pub fn op(&self) -> Option<&'static str> {
        self.op
    }
}

impl Deref for RefusedShape {
    type Target = Shape;
    fn deref(&self) -> &Shape {
        &self.shape
    }
}

impl fmt::Debug for RefusedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.fmt(f)
    }
}

impl<S: Into<Shape>> From<S> for RefusedShape {
    fn from(shape: S) -> Self {
        RefusedShape { op: None, shape: shape.into() }
    }
}

/// What programs that make such an error write as `shape.into()`.
impl From<Shape> for Box<RefusedShape> {
    fn from(shape: Shape) -> Self {
        Box::new(shape.into())
    }
}
