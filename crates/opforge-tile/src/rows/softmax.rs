//! Softmax, which several operators are made of.

use opforge_macros::Attributes;

use crate::{Float, Fold, Row, RowFn, math};

/// Softmax, or its logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Softmax {
    /// `e^x / sum(e^x)`
    Plain,
    /// `x - ln(sum(e^x))`
    Log,
}

/// Shifted by the maximum, so that no exponential overflows. A row of nothing but -inf gives NaN.
impl RowFn<1> for Softmax {
    const KEEPS: bool = true;

    #[inline(always)]
    fn row<R: Row<1>>(self, row: &mut R) {
        let max = row.fold_keeping(
            Fold::Max,
            #[inline(always)]
            |[x], _| [x, x],
        );
        if self == Softmax::Plain {
            let sum = row.fold_keeping(
                Fold::Sum,
                #[inline(always)]
                |_, x| {
                    let e = math::exp(x - max);
                    [e, e]
                },
            );
            let scale = R::Element::splat(1.0) / sum;
            row.write(
                0,
                #[inline(always)]
                |_, e| e * scale,
            );
        } else {
            let sum = row.fold_keeping(
                Fold::Sum,
                #[inline(always)]
                |_, x| [math::exp(x - max), x - max],
            );
            let log = math::log(sum);
            row.write(
                0,
                #[inline(always)]
                |_, x| x - log,
            );
        }
    }
}

/// The gradient of [`Softmax`] from its result `y` and the gradient `g` of that: `y (g - sum(y g))`, or `g - e^y sum(g)`.
#[derive(Debug, Clone, Copy)]
pub struct SoftmaxSlope(
    /// Of which of the two.
    pub Softmax,
);

impl RowFn<2> for SoftmaxSlope {
    #[inline(always)]
    fn row<R: Row<2>>(self, row: &mut R) {
        if self.0 == Softmax::Plain {
            let sum = row.fold(
                Fold::Sum,
                #[inline(always)]
                |[y, g], _| y * g,
            );
            row.write(
                0,
                #[inline(always)]
                |[y, g], _| y * (g - sum),
            );
        } else {
            let sum = row.fold(
                Fold::Sum,
                #[inline(always)]
                |[_, g], _| g,
            );
            row.write(
                0,
                #[inline(always)]
                |[y, g], _| g - math::exp(y) * sum,
            );
        }
    }
}
