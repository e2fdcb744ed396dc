//! Systems of equations whose unknowns and right-hand sides are tensors, and matrices made of vectors.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use crate::family::matrix::matrices;
use crate::functional as f;
use crate::ops::prelude::*;

functions! { tensorsolve, tensorinv, linalg_vander, vander, householder_product, orgqr, linalg_diagonal }

/// The `X` with `tensordot(A, X, X.dim()) = B`; `dims` of `A` are first moved to its end.
///
/// # Errors
/// For shapes that do not make a square system, and singular ones.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let a = Tensor::eye(6, DType::F64, &Device::Cpu)?.reshape((2, 3, 6))?;
/// let b = Tensor::ones((2, 3), DType::F64, &Device::Cpu)?;
/// assert_eq!(opforge::functional::tensorsolve(&a, &b, None)?.to_vec1::<f64>()?, [1.0; 6]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dims = None)]
#[python(linalg)]
pub fn tensorsolve(A: &Tensor, B: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    let mut moved = A.clone();
    if let Some(dims) = dims {
        let last = |i: usize| i as i64 - dims.len() as i64;
        moved = f::movedim(A, dims, &(0..dims.len()).map(last).collect::<Vec<_>>())?;
    }
    let unknowns = &moved.dims()[B.rank().min(moved.rank())..];
    let (rows, columns) = (B.elem_count(), unknowns.iter().product::<usize>());
    if rows != columns || B.rank() > moved.rank() {
        return Err(Error::shapes(OP, A.shape(), B.shape(), "as many equations as unknowns"));
    }
    f::solve(&moved.reshape((rows, columns))?, &B.flatten_all()?, true)?.reshape(unknowns)
}

/// The inverse of `A` as a map from its last dimensions to its first `ind`: `tensordot(tensorinv(A), A, ind)` is the identity.
///
/// # Errors
/// For an `ind` of 0 or less, dimensions before and after it that differ in size, and singular maps.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let a = Tensor::eye(6, DType::F64, &Device::Cpu)?.reshape((2, 3, 6))?;
/// assert_eq!(opforge::functional::tensorinv(&a, 2)?.dims(), [6, 2, 3]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(ind = 2)]
#[python(linalg)]
pub fn tensorinv(A: &Tensor, ind: i64) -> Result<Tensor> {
    let count = usize::try_from(ind).ok().filter(|&n| n > 0 && n <= A.rank());
    let count = count.ok_or_else(|| Error::value(OP, "ind", ind, format!("1 to {}", A.rank())))?;
    let (first, last) = A.dims().split_at(count);
    let (rows, columns) = (first.iter().product::<usize>(), last.iter().product::<usize>());
    ensure(rows == columns, || wrong_shape(OP, "A", A.shape(), "equal sizes before and after `ind`"))?;
    f::inverse(&A.reshape((rows, columns))?)?.reshape([last, first].concat())
}

/// The powers 0 to `N - 1` of each number, side by side in a new last dimension; as many as there are numbers without `N`. A tensor without
/// dimensions counts as one of one number.
///
/// # Errors
/// For a negative `N`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[2i64, 3], &Device::Cpu)?;
/// assert_eq!(opforge::functional::linalg_vander(&x, Some(3))?.to_vec2::<i64>()?, [[1, 2, 4], [1, 3, 9]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, N = None)]
#[python(linalg, name = "vander")]
pub fn linalg_vander(x: &Tensor, N: Option<i64>) -> Result<Tensor> {
    let x = &f::atleast_1d(x)?;
    let last = x.dims()[x.rank() - 1];
    let count = N.unwrap_or(last as i64);
    let count = usize::try_from(count).map_err(|_| Error::value(OP, "N", count, "0 or more"))?;
    let x = if x.dtype() == DType::Bool { x.to_dtype(DType::I64)? } else { x.clone() };
    let of = |n: usize| [x.dims(), &[n]].concat();
    let Some(rest) = count.checked_sub(1) else {
        return f::constant_in(Tensor::zeros(of(0), x.dtype(), x.device())?, &[&x]);
    };
    let column = x.unsqueeze(x.rank())?;
    f::cumprod(&f::cat(&[column.ones_like()?, column.broadcast_as(of(rest))?], x.rank() as i64)?, -1, None)
}

/// The powers `N - 1` to 0 of each of a vector's numbers in a row, or 0 to `N - 1` if `increasing`; as many as there are numbers without `N`.
///
/// # Errors
/// For tensors that are not vectors, and a negative `N`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[2i64, 3], &Device::Cpu)?;
/// assert_eq!(f::vander(&x, Some(3), false)?.to_vec2::<i64>()?, [[4, 2, 1], [9, 3, 1]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(N = None, increasing = false)]
#[python(torch)]
pub fn vander(x: &Tensor, N: Option<i64>, increasing: bool) -> Result<Tensor> {
    ensure(x.rank() == 1, || wrong_shape(OP, "x", x.shape(), "a vector"))?;
    let powers = linalg_vander(x, N)?;
    if increasing { Ok(powers) } else { f::flip(&powers, &[1]) }
}

/// The first columns of the product of Householder's reflections `I - tau_i v_i v_i^H`; below its diagonal, which counts as ones, each
/// column of `A`, `[.., m, n]`, is a `v_i`. `tau` is `[.., k]` with `k <= n <= m`.
///
/// # Errors
/// For shapes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[7f32], [1.0]], &Device::Cpu)?;
/// let tau = Tensor::new(&[1f32], &Device::Cpu)?;
/// assert_eq!(opforge::functional::householder_product(&a, &tau)?.to_vec2::<f32>()?, [[0.0], [-1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(linalg)]
pub fn householder_product(A: &Tensor, tau: &Tensor) -> Result<Tensor> {
    let (lead, m, n) = matrices(OP, A.meta())?;
    let fits = |tau: &Tensor| tau.rank() + 1 == A.rank() && &tau.dims()[..lead.len()] == lead;
    ensure(m >= n && fits(tau) && tau.dims()[lead.len()] <= n, || {
        Error::shapes(OP, A.shape(), tau.shape(), "[.., m, n] and [.., k] with k <= n <= m")
    })?;
    let (row, column) = (lead.len(), lead.len() + 1);
    let ones = f::eye(m as i64, Some(n as i64), Some(A.dtype()), Some(*A.device()), false)?;
    let vectors = f::tril(A, -1)?.broadcast_add(&ones)?;
    let k = tau.dims()[row];
    if k == 0 {
        return ones.broadcast_as(A.shape())?.copy();
    }
    // The compact form of Schreiber and Van Loan (1989): the product is `I - V T V^H` with a triangular `T`, and
    // `(I + diag(tau) U) T = diag(tau)` for what `V^H V` has above its diagonal, `U`.
    let v = vectors.narrow(column, 0, k)?;
    let scaled = |t: &Tensor| t.broadcast_mul(&tau.unsqueeze(column)?);
    let adjoint = f::adjoint(&v)?;
    let above = f::triu(&adjoint.matmul(&v)?, 1)?;
    let first = adjoint.narrow(column, 0, n)?;
    let inner = f::solve_triangular(&scaled(&above)?, &scaled(&first)?, true, true, true)?;
    ones.broadcast_sub(&v.matmul(&inner)?)
}

/// As [`householder_product`].
///
/// # Errors
/// As [`householder_product`].
#[function]
pub fn orgqr(input: &Tensor, tau: &Tensor) -> Result<Tensor> {
    householder_product(input, tau)
}

/// The diagonals of matrices: see [`diagonal`](fn@crate::functional::diagonal).
///
/// # Errors
/// As [`diagonal`](fn@crate::functional::diagonal).
#[function(*, offset = 0, dim1 = -2, dim2 = -1)]
#[python(linalg, name = "diagonal")]
#[view]
pub fn linalg_diagonal(A: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    let dim = |d| normalize_dim(d, A.rank(), OP).map(|d| d as i64);
    f::diagonal(A, offset, dim(dim1)?, dim(dim2)?)
}
