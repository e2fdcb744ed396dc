//! What is composed of factors of matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use crate::family::matrix::{identity, matrices, over_batch, square};
use crate::functional as f;
use crate::ops::linalg::lu_factor::{reordered, triangles};
use crate::ops::linalg::solve_triangular::triangular;
use crate::ops::prelude::*;

functions! {
    lu, lu_unpack, lu_factor_ex, lu_solve, lu_solve_data, inv_ex, solve_ex, cholesky_solve, cholesky_inverse, svd_v,
    qr_some, svd_by, svdvals_by,
}

/// `P`, `L` and `U` with `A = P L U` for each matrix: a permutation, a lower triangle with ones on its diagonal, an upper triangle.
///
/// # Errors
/// As [`lu_factor`](fn@crate::functional::lu_factor).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[1f32, 2.0], [2.0, 2.0]], &Device::Cpu)?;
/// let (p, l, u) = opforge::functional::lu(&a, true)?;
/// assert_eq!(p.matmul(&l)?.matmul(&u)?.to_vec2::<f32>()?, [[1.0, 2.0], [2.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, pivot = true)]
#[python(linalg, results(P, L, U))]
pub fn lu(A: &Tensor, pivot: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let (both, pivots) = f::lu_factor(A, pivot)?;
    lu_unpack(&both, &pivots, true, pivot)
}

/// `P`, `L` and `U` of what [`lu_factor`](fn@crate::functional::lu_factor) gives. Without `unpack_pivots`, `P` is empty; without
/// `unpack_data`, the others are.
///
/// # Errors
/// For shapes that do not go together, and pivots that are not i32 or not rows.
#[function(unpack_data = true, unpack_pivots = true)]
#[python(torch, results(P, L, U))]
pub fn lu_unpack(
    LU_data: &Tensor,
    LU_pivots: &Tensor,
    unpack_data: bool,
    unpack_pivots: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let (_, m, _) = matrices(OP, LU_data.meta())?;
    let empty = || Tensor::zeros(0, LU_data.dtype(), LU_data.device());
    let p = if unpack_pivots {
        let order = f::lu_permutation(LU_pivots, m)?;
        reordered(
            &identity(LU_data, m)?.broadcast_as([&order.dims()[..order.rank() - 1], &[m, m]].concat())?,
            &order,
            true,
        )?
    } else {
        empty()?
    };
    let (l, u) = if unpack_data { triangles(LU_data)? } else { (empty()?, empty()?) };
    Ok((p, l, u))
}

/// As [`lu_factor`](fn@crate::functional::lu_factor), and an i32 for each matrix: 0, or the place, counted from 1, of the first 0 on the
/// diagonal of `U`.
///
/// # Errors
/// As [`lu_factor`](fn@crate::functional::lu_factor); with `check_errors` for singular matrices.
#[function(*, pivot = true, check_errors = false)]
#[python(linalg, results(LU, pivots, info))]
pub fn lu_factor_ex(A: &Tensor, pivot: bool, check_errors: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let (both, pivots) = f::lu_factor(A, pivot)?;
    let info = zero_pivot(&both)?;
    if check_errors {
        check_info(OP, &info, "matrices that have an inverse")?;
    }
    Ok((both, pivots, info))
}

/// The `X` with `A X = B`, or `X A = B` if not `left`, of the matrices whose factors [`lu_factor`](fn@crate::functional::lu_factor) gave; of
/// their adjoints if `adjoint`. Leading dimensions are broadcast. Singular matrices give infinities and NaN.
///
/// # Errors
/// For shapes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (both, pivots) = f::lu_factor(&Tensor::new(&[[0f32, 2.0], [4.0, 0.0]], &Device::Cpu)?, true)?;
/// let b = Tensor::new(&[[2f32], [8.0]], &Device::Cpu)?;
/// assert_eq!(f::lu_solve(&both, &pivots, &b, true, false)?.to_vec2::<f32>()?, [[2.0], [1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, left = true, adjoint = false)]
#[python(linalg)]
pub fn lu_solve(LU: &Tensor, pivots: &Tensor, B: &Tensor, left: bool, adjoint: bool) -> Result<Tensor> {
    let n = square(OP, LU.meta())?;
    matrices(OP, B.meta())?;
    if !left {
        return f::adjoint(&lu_solve(LU, pivots, &f::adjoint(B)?, true, !adjoint)?);
    }
    let order = f::lu_permutation(pivots, n)?;
    let (both, b) = over_batch(OP, LU, B)?;
    let order = order.broadcast_as(&both.dims()[..both.rank() - 1])?;
    if adjoint {
        let both = f::adjoint(&both)?;
        return reordered(&triangular(&both, &triangular(&both, &b, false, false)?, true, true)?, &order, true);
    }
    let lower = triangular(&both, &reordered(&b, &order, false)?, false, true)?;
    triangular(&both, &lower, true, false)
}

/// As [`lu_solve`], with the operands in another order.
///
/// # Errors
/// As [`lu_solve`].
#[function]
#[python(torch, method, name = "lu_solve")]
pub fn lu_solve_data(b: &Tensor, LU_data: &Tensor, LU_pivots: &Tensor) -> Result<Tensor> {
    lu_solve(LU_data, LU_pivots, b, true, false)
}

/// The inverse of each matrix, and an i32: 0, or the place, counted from 1, of the first 0 on the diagonal of its upper factor. The inverse
/// of a singular matrix holds infinities and NaN.
///
/// # Errors
/// For matrices that are not square; with `check_errors` for those without an inverse.
#[function(*, check_errors = false)]
#[python(linalg, results(inverse, info))]
pub fn inv_ex(A: &Tensor, check_errors: bool) -> Result<(Tensor, Tensor)> {
    let n = square(OP, A.meta())?;
    // Of the input's rank: `solve_ex` takes what has one dimension less for vectors.
    solve_ex(A, &identity(A, n)?.broadcast_as(A.shape())?, true, check_errors)
}

/// The `X` with `A X = B`, or `X A = B` if not `left`, and an i32: 0, or the place, counted from 1, of the first 0 on the diagonal of `A`'s
/// upper factor. The result of a singular matrix holds infinities and NaN.
///
/// # Errors
/// For shapes that do not go together; with `check_errors` for matrices without an inverse.
#[function(*, left = true, check_errors = false)]
#[python(linalg, results(result, info))]
pub fn solve_ex(A: &Tensor, B: &Tensor, left: bool, check_errors: bool) -> Result<(Tensor, Tensor)> {
    square(OP, A.meta())?;
    let vectors = B.rank() == 1 || (B.rank() + 1 == A.rank() && B.dims() == &A.dims()[..A.rank() - 1]);
    if vectors {
        let (x, info) = solve_ex(A, &B.unsqueeze(B.rank())?, left, check_errors)?;
        return Ok((x.squeeze(x.rank() - 1)?, info));
    }
    let (both, pivots, info) = lu_factor_ex(A, true, check_errors)?;
    Ok((lu_solve(&both, &pivots, B, left, false)?, info))
}

/// The `X` with `A X = B` of the matrices whose Cholesky factor is `L`, lower or `upper` triangular.
///
/// # Errors
/// For shapes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let l = Tensor::new(&[[2f32, 0.0], [0.0, 1.0]], &Device::Cpu)?;
/// let b = Tensor::new(&[[8f32], [3.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cholesky_solve(&b, &l, false)?.to_vec2::<f32>()?, [[2.0], [3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(upper = false)]
#[python(torch, method)]
pub fn cholesky_solve(B: &Tensor, L: &Tensor, upper: bool) -> Result<Tensor> {
    let turned = f::adjoint(L)?;
    let (lower, higher) = if upper { (&turned, L) } else { (L, &turned) };
    f::solve_triangular(higher, &f::solve_triangular(lower, B, false, true, false)?, true, true, false)
}

/// The inverse of the matrices whose Cholesky factor is `L`, lower or `upper` triangular.
///
/// # Errors
/// For matrices that are not square.
#[function(upper = false)]
#[python(torch, method)]
pub fn cholesky_inverse(L: &Tensor, upper: bool) -> Result<Tensor> {
    let n = square(OP, L.meta())?;
    cholesky_solve(&identity(L, n)?, L, upper)
}

/// `U`, `S` and `V` with `A = U diag(S) V^H`: see [`svd`](fn@crate::functional::svd), whose vectors are full if not `some`. Without
/// `compute_uv` the vectors are zeros.
///
/// # Errors
/// As [`svd`](fn@crate::functional::svd).
#[function(some = true, compute_uv = true)]
#[python(torch, method, name = "svd", results(U, S, V))]
pub fn svd_v(input: &Tensor, some: bool, compute_uv: bool) -> Result<(Tensor, Tensor, Tensor)> {
    if !compute_uv {
        let (lead, m, n) = matrices(OP, input.meta())?;
        let zeros = |n: usize| Tensor::zeros([lead, &[n, n]].concat(), input.dtype(), input.device());
        return Ok((zeros(m)?, f::svdvals(input)?, zeros(n)?));
    }
    let (u, s, vh) = f::svd(input, !some)?;
    Ok((u, s, f::adjoint(&vh)?))
}

/// `Q` and `R`: see [`qr`](fn@crate::functional::qr), reduced if `some`, else complete.
///
/// # Errors
/// As [`qr`](fn@crate::functional::qr).
#[function(some = true)]
#[python(torch, method, name = "qr", results(Q, R))]
pub fn qr_some(input: &Tensor, some: bool) -> Result<(Tensor, Tensor)> {
    f::qr(input, if some { "reduced" } else { "complete" })
}

/// 0, or the place of the first 0 on the diagonal, counted from 1.
fn zero_pivot(both: &Tensor) -> Result<Tensor> {
    let (lead, m, n) = matrices("lu_factor_ex", both.meta())?;
    if m.min(n) == 0 {
        return Tensor::zeros(lead, DType::I32, both.device());
    }
    let zero = f::eq((&f::diagonal(&both.detach(), 0, -2, -1)?).into(), 0.0.into())?.to_dtype(DType::I32)?;
    let first = f::argmax(&zero, Some(-1), false)?.to_dtype(DType::I32)?.affine(1.0, 1.0)?;
    first.mul(&f::amax(&zero, Some(&[-1]), false)?)
}

/// Fails if one of these is not 0.
#[track_caller]
pub(crate) fn check_info(op: &'static str, info: &Tensor, accepted: &'static str) -> Result<()> {
    let info = info.flatten_all()?.to_vec1::<i32>()?;
    match info.iter().position(|&place| place != 0) {
        Some(index) => Err(Error::linalg(
            op,
            "A",
            format!("matrix {index} of the batch, which fails at {}", info[index]),
            accepted,
        )),
        None => Ok(()),
    }
}

/// [`svd`](fn@crate::functional::svd), where a `driver` may be named on GPUs.
///
/// # Errors
/// As [`svd`](fn@crate::functional::svd), and for a driver.
#[function(full_matrices = true, *, driver)]
#[python(linalg, name = "svd", results(U, S, Vh))]
pub fn svd_by(A: &Tensor, full_matrices: bool, driver: Option<&str>) -> Result<(Tensor, Tensor, Tensor)> {
    no_driver(OP, driver)?;
    f::svd(A, full_matrices)
}

/// [`svdvals`](fn@crate::functional::svdvals), where a `driver` may be named on GPUs.
///
/// # Errors
/// As [`svdvals`](fn@crate::functional::svdvals), and for a driver.
#[function(*, driver)]
#[python(linalg, name = "svdvals")]
pub fn svdvals_by(A: &Tensor, driver: Option<&str>) -> Result<Tensor> {
    no_driver(OP, driver)?;
    f::svdvals(A)
}

fn no_driver(op: &'static str, driver: Option<&str>) -> Result<()> {
    driver.map_or(Ok(()), |driver| Err(Error::value(op, "driver", driver, "None: drivers are algorithms of GPUs")))
}
