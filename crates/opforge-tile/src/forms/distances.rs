//! Distances between rows.

use opforge_core::Scalar;

/// Norms of the differences `e[k] = x[i, k] - y[j, k]` of rows. That of order `p` is `(sum_k |e[k]|^p)^(1/p)`, of order 0 the number of elements that are not
/// 0, of order infinity the greatest magnitude; NaN where a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Distances {
    /// The norm's order, 0 or more.
    pub order: Scalar,
    /// Whether they are those of all rows `i < j` of one matrix, `[n, width]`: row by row, `[n (n - 1) / 2]`. Else of all rows of the first input, `[.., n, width]`,
    /// and all of the second, `[.., m, width]`, whose leading dimensions are broadcast: `[.., n, m]`.
    pub pairs: bool,
    /// Whether the gradient of the first matrix is meant, of inputs `g`, those of the distances, and the distances `d`: sums over `j` of
    /// `g[i, j] sign(e[k]) (|e[k]| / d[i, j])^(p - 1)`, and of nothing where `d` is 0 or the order is. Of order infinity they are of `g[i, j] sign(e[k])` where
    /// `|e[k]|` is the distance, and NaN where that is.
    pub gradient: bool,
}
