//! What singular values and eigenvalues tell of matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use crate::autograd::{is_grad_enabled, no_grad, record_function};
use crate::family::matrix::{matrices, real_dtype, rtol_or_default, square};
use crate::functional as f;
use crate::ops::prelude::*;

functions! { matrix_rank, polar_factors, matrix_sqrth, matrix_rank_above, pinv_above, pinverse, cond, cond_named }

/// The number of singular values, in i64, above `max(atol, rtol * largest)` of each matrix. The tolerances are numbers or tensors, one for
/// each; without both, `rtol` is the dtype's epsilon times the longer side. A `hermitian` matrix is symmetric: of it the lower triangle is
/// read.
///
/// # Errors
/// For fewer than two dimensions, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[1f32, 2.0], [2.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::matrix_rank(&a, None, None, false)?.to_scalar::<i64>()?, 1);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, atol = None, rtol = None, hermitian = false)]
#[python(linalg)]
pub fn matrix_rank(
    A: &Tensor,
    atol: Option<Operand<'_>>,
    rtol: Option<Operand<'_>>,
    hermitian: bool,
) -> Result<Tensor> {
    let (lead, m, n) = matrices(OP, A.meta())?;
    let values = if hermitian { f::eigvalsh(A, "L")?.abs()? } else { f::svdvals(A)? }.detach();
    if m.min(n) == 0 {
        return Tensor::zeros(lead, DType::I64, A.device());
    }
    let number = |x: Operand<'_>| match x {
        Operand::Scalar(x) => Tensor::full_scalar(x, (), values.dtype(), A.device()),
        Operand::Tensor(t) => t.to_dtype(values.dtype()),
    };
    let relative = number(rtol_or_default(A, &atol, rtol))?;
    let largest = f::amax(&values, Some(&[-1]), false)?.broadcast_mul(&relative)?;
    let limit = largest.broadcast_maximum(&number(atol.unwrap_or(0.0.into()))?)?;
    f::sum(&f::gt((&values).into(), (&limit.unsqueeze(limit.rank())?).into())?, Some(&[-1]), false, None)
}

/// `U` with orthonormal columns and a Hermitian positive semidefinite `H` with `A = U H`, of matrices with at least as many rows as columns.
///
/// # Errors
/// For more columns than rows, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[0f64, -2.0], [3.0, 0.0]], &Device::Cpu)?;
/// let (u, h) = opforge::functional::polar_factors(&a)?;
/// assert!(u.matmul(&h)?.sub(&a)?.abs()?.max_all()?.to_scalar::<f64>()? < 1e-12);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(linalg, name = "polar", results(U, H))]
pub fn polar_factors(A: &Tensor) -> Result<(Tensor, Tensor)> {
    let (_, m, n) = matrices(OP, A.meta())?;
    ensure(m >= n, || wrong_shape(OP, "A", A.shape(), "at least as many rows as columns"))?;
    let (u, s, vh) = f::svd(A, false)?;
    let stretch = f::adjoint(&vh)?.matmul(&vh.broadcast_mul(&s.to_dtype(vh.dtype())?.unsqueeze(s.rank())?)?)?;
    Ok((u.matmul(&vh)?, stretch))
}

/// The symmetric positive definite `X` with `X X = A`, of each symmetric positive definite matrix, of which only the lower triangle is read.
/// The gradient is symmetric, and that of equal eigenvalues too; differentiating it again needs different ones.
///
/// # Errors
/// As [`eigh`](fn@crate::functional::eigh).
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[4f64, 0.0], [0.0, 9.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::matrix_sqrth(&a)?.to_vec2::<f64>()?, [[2.0, 0.0], [0.0, 3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(linalg)]
pub fn matrix_sqrth(A: &Tensor) -> Result<Tensor> {
    let (root, roots, vectors) = no_grad(|| {
        let (values, vectors) = f::eigh(A, "L")?;
        let roots = values.sqrt()?;
        let roots = roots.to_dtype(vectors.dtype())?;
        let root = vectors.broadcast_mul(&roots.unsqueeze(roots.rank() - 1)?)?.matmul(&f::adjoint(&vectors)?)?;
        Ok::<_, Error>((root, roots, vectors))
    })?;
    if !is_grad_enabled() || !A.requires_grad() {
        return Ok(root);
    }
    let (a, version) = (A.clone(), A.version());
    let backward = move |grads: &[Option<Tensor>], _: &[bool]| {
        let Some(grad) = &grads[0] else { return Ok(vec![None]) };
        if !is_grad_enabled() {
            return Ok(vec![Some(root_gradient(grad, &roots, &vectors)?)]);
        }
        if a.version() != version {
            return Err(Error::autograd(OP, "A", "changed in place since", "the matrices that the root is of"));
        }
        let (values, vectors) = f::eigh(&a, "L")?;
        Ok(vec![Some(root_gradient(grad, &values.sqrt()?.to_dtype(vectors.dtype())?, &vectors)?)])
    };
    Ok(record_function(OP, &[A], &[root], &[true], Arc::new(backward))?.remove(0))
}

/// [`matrix_rank`] with an absolute tolerance.
///
/// # Errors
/// As [`matrix_rank`].
#[function(hermitian = false)]
#[python(linalg, name = "matrix_rank")]
pub fn matrix_rank_above(A: &Tensor, tol: Operand<'_>, hermitian: bool) -> Result<Tensor> {
    matrix_rank(A, Some(tol), Some(0.0.into()), hermitian)
}

/// [`pinv`](fn@crate::functional::pinv) with a relative tolerance.
///
/// # Errors
/// As [`pinv`](fn@crate::functional::pinv).
#[function(hermitian = false)]
#[python(linalg, name = "pinv")]
pub fn pinv_above(A: &Tensor, rcond: Operand<'_>, hermitian: bool) -> Result<Tensor> {
    f::pinv(A, None, Some(rcond), hermitian)
}

/// [`pinv`](fn@crate::functional::pinv) with a relative tolerance, by default that of `pinv`. PyTorch's default, 1e-15, keeps singular values of f32 that are
/// nothing but rounding errors.
///
/// # Errors
/// As [`pinv`](fn@crate::functional::pinv).
#[function(rcond = None)]
pub fn pinverse(input: &Tensor, rcond: Option<f64>) -> Result<Tensor> {
    f::pinv(input, None, rcond.map(Into::into), false)
}

/// How much each matrix may magnify relative errors: its norm times its inverse's. Without `p`, or of 2 and -2, the largest singular value by the
/// least, and the reverse, of any matrix; else see [`matrix_norm`](fn@crate::functional::matrix_norm_of). Infinite of singular matrices, 0 of empty ones.
///
/// # Errors
/// For another `p`, matrices that are not square where `p` is neither 2 nor -2, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[2f32, 0.0], [0.0, 8.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cond(&a, None)?.to_scalar::<f32>()?, 4.0);
/// assert_eq!(opforge::functional::cond(&a, Some(1.0))?.to_scalar::<f32>()?, 4.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = None)]
#[python(linalg)]
pub fn cond(A: &Tensor, p: Option<f64>) -> Result<Tensor> {
    let (lead, _, _) = matrices(OP, A.meta())?;
    match p.unwrap_or(2.0) {
        p if A.elem_count() == 0 && [1.0, 2.0, f64::INFINITY].contains(&p.abs()) => {
            f::constant_in(Tensor::zeros(lead, real_dtype(A.dtype()), A.device())?, &[A])
        }
        p if p.abs() != 2.0 => with_inverse(A, |x| f::matrix_norm_of(x, p, &[-2, -1], false, None)),
        p => {
            let values = f::svdvals(A)?;
            let (first, last) = (f::select(&values, -1, 0)?, f::select(&values, -1, -1)?);
            if p > 0.0 { first.div(&last) } else { last.div(&first) }
        }
    }
}

/// [`cond`] by the norm of this name: `"fro"` or `"nuc"`.
///
/// # Errors
/// For another name, and matrices that are not square.
#[function]
#[python(linalg, name = "cond")]
pub fn cond_named(A: &Tensor, p: &str) -> Result<Tensor> {
    with_inverse(A, |x| f::matrix_norm(x, p, &[-2, -1], false, None))
}

/// The gradient of `A` by that of its root `X`, whose eigenvalues and eigenvectors are given: the symmetric `S` with `X S + S X = G`.
#[track_caller]
fn root_gradient(grad: &Tensor, roots: &Tensor, vectors: &Tensor) -> Result<Tensor> {
    let (grad, adjoint) = (grad.add(&f::adjoint(grad)?)?.affine(0.5, 0.0)?, f::adjoint(vectors)?);
    let (row, column) = (roots.unsqueeze(roots.rank() - 1)?, roots.unsqueeze(roots.rank())?);
    let turned = adjoint.matmul(&grad)?.matmul(vectors)?;
    vectors.matmul(&turned.div(&row.broadcast_add(&column)?)?)?.matmul(&adjoint)
}

/// A norm times the inverse's norm, infinite for singular matrices.
#[track_caller]
fn with_inverse(a: &Tensor, norm: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if square("cond", a.meta())? == 0 {
        return norm(a);
    }
    let (inverse, info) = f::inv_ex(a, false)?;
    let product = norm(a)?.mul(&norm(&inverse)?)?;
    f::where_cond(&f::ne((&info).into(), 0i64.into())?, f64::INFINITY.into(), (&product).into())
}
