//! Functions of rows: a few passes over a row's elements, each of which knows what those before it found. Softmax is such.
//!
//! ```
//! use opforge_tile::{Float, Fold, Row, RowFn};
//!
//! /// Every element divided by the sum of the row's magnitudes.
//! #[derive(Clone, Copy)]
//! struct Share;
//! impl RowFn<1> for Share {
//!     #[inline(always)]
//!     fn row<R: Row<1>>(self, row: &mut R) {
//!         let total = row.fold(Fold::Sum, #[inline(always)] |[x], _| x.abs());
//!         row.write(0, #[inline(always)] |[x], _| x / total);
//!     }
//! }
//! ```

mod softmax;

pub use softmax::{Softmax, SoftmaxSlope};

use crate::Float;

/// How the terms of a pass become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fold {
    /// Their sum; 0 of none.
    Sum,
    /// The greatest of them, NaN if any is; minus infinity of none.
    Max,
}

impl Fold {
    /// What changes nothing.
    #[inline(always)]
    pub fn identity(self) -> f64 {
        match self {
            Fold::Sum => 0.0,
            Fold::Max => f64::NEG_INFINITY,
        }
    }

    /// Two terms made one.
    #[inline(always)]
    pub fn combine<V: Float>(self, a: V, b: V) -> V {
        match self {
            Fold::Sum => a + b,
            Fold::Max => a.max(b),
        }
    }
}

/// A row as a function of rows sees it. At each place there are an element of each of `K` inputs, and a number that a pass may keep there for
/// those after it; both are what the passes' closures are given. Closures must be `#[inline(always)]`.
pub trait Row<const K: usize> {
    /// An element of a place, and a number that is the same at every place of the row.
    type Element: Float;

    /// Combines a term of each place.
    fn fold(&mut self, by: Fold, term: impl Fn([Self::Element; K], Self::Element) -> Self::Element) -> Self::Element;

    /// As [`fold`](Row::fold); `place` gives a term and what is kept.
    fn fold_keeping(
        &mut self,
        by: Fold,
        place: impl Fn([Self::Element; K], Self::Element) -> [Self::Element; 2],
    ) -> Self::Element;

    /// Writes an element of each place to an output.
    fn write(&mut self, output: usize, element: impl Fn([Self::Element; K], Self::Element) -> Self::Element);
}

/// A function of rows of `K` inputs, each row for itself.
pub trait RowFn<const K: usize>: Copy + Send + Sync + 'static {
    /// Whether a pass keeps anything.
    const KEEPS: bool = false;

    /// The passes. Must be `#[inline(always)]`.
    fn row<R: Row<K>>(self, row: &mut R);
}
