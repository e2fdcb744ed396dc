//! Factorisations, inverses and functions of matrices.

/// What is computed of each matrix `A`, `[m, n]` with `k = min(m, n)`; the other inputs and the outputs are matrices, vectors and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dense {
    /// `L`, `[n, n]`, of `A = L L^T`; only A's lower triangle is read.
    Cholesky,
    /// As [`Dense::Cholesky`] with a second output: 0, or the order of the leading minor that is not positive and `L`
    /// NaN. It never fails.
    CholeskyInfo,
    /// `[sign, log]` of the determinant, and itself: 0 and minus infinity, and 0, of a singular matrix.
    LogDet,
    /// `X` of `A X = B`; the second input is `B`, `[n, k]`.
    Solve,
    /// `L` without its diagonal of ones and `U` in one matrix, `[m, n]`, and the row that each step exchanged its own with, counted from 1.
    Lu,
    /// `X` of `A X = B` with a triangular `A`, of which only that triangle is read; the second input is `B`, `[n, k]`.
    Triangular {
        /// Whether the upper triangle is meant.
        upper: bool,
        /// Whether the diagonal counts as ones.
        unit: bool,
    },
    /// `Q`, `[m, k]`, and `R`, `[k, n]`; or `[m, m]` and `[m, n]`, as the outputs say.
    Qr,
    /// `R` of [`Dense::Qr`] alone.
    QrR,
    /// The reflections of [`Dense::Qr`], `[m, n]`, with `R` on and above the diagonal, and their factors, `[k]`, as LAPACK's `geqrf` gives them.
    Reflections,
    /// `U`, `[m, k]`, the singular values in descending order, and `V^T`, `[k, n]`; or `[m, m]` and `[n, n]`, as the outputs say.
    Svd,
    /// The singular values.
    SingularValues,
    /// The eigenvalues of a symmetric matrix in ascending order, and eigenvectors in columns; only one triangle is read.
    Eigh {
        /// Whether that is the upper one.
        upper: bool,
    },
    /// The eigenvalues of [`Dense::Eigh`].
    EigenvaluesSymmetric {
        /// Whether the upper triangle is read.
        upper: bool,
    },
    /// The eigenvalues of any square matrix, complex, and eigenvectors of length 1 in columns, complex too. Conjugates stand side by side.
    Eig,
    /// The eigenvalues of [`Dense::Eig`].
    Eigenvalues,
    /// The pseudo-inverse, `[n, m]`: singular values up to `max(a, r * largest)` count as 0, where the second and the third input are the
    /// numbers `a` and `r`.
    PseudoInverse {
        /// Whether the matrix is symmetric; only its lower triangle is read then.
        hermitian: bool,
    },
    /// The shortest `X`, `[n, c]`, with the least `|A X - B|`, the rank of `A`, and, if there is an output for them, its singular values: where
    /// there is none, they are found only if the rank may not be full. The second input is `B`, `[m, c]`; the third the number `r`: singular
    /// values up to `r * largest` count as 0.
    LeastSquares,
    /// The matrix exponential.
    Exp,
}
