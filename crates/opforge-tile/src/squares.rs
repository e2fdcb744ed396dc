//! Reductions of squares.

use crate::{Float, Reducer};

/// The sum of squares, or what is made of it: one type, since loops are compiled for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Squares {
    /// The sum itself.
    Sum,
    /// The mean.
    Mean,
    /// The square root of the sum: the Euclidean length.
    Root,
}

impl Reducer for Squares {
    #[inline(always)]
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn map<V: Float>(self, x: V) -> V {
        x * x
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    #[inline(always)]
    fn finish<V: Float>(self, acc: V, count: f64) -> V {
        match self {
            Squares::Sum => acc,
            Squares::Mean => acc / V::splat(count),
            Squares::Root => acc.sqrt(),
        }
    }
}
