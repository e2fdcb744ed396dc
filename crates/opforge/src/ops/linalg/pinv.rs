//! `pinv(A)`: the pseudo-inverse.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use crate::family::matrix::{batch_axes, matrices, number_each, product, rtol_or_default, sample, square, turned};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`pinv`]: `A`, `[.., m, n]`, and absolute and relative tolerances, `[..]`, to `[.., n, m]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct PInv {
    /// Whether the matrices are symmetric: the lower triangle is read.
    pub hermitian: bool,
}

/// The gradient of `A` from that of its pseudo-inverse `P` (Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least
/// squares problems", 1973, (4.12)).
pub(super) fn gradient(a: &Tensor, p: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (pt, gt) = (f::adjoint(p)?, f::adjoint(grad)?);
    let within = pt.matmul(grad)?.matmul(&pt)?;
    // What A's range, and that of its rows, leave over.
    let left = gt.matmul(p)?.matmul(&pt)?;
    let left = left.sub(&a.matmul(&p.matmul(&left)?)?)?;
    let right = pt.matmul(p)?.matmul(&gt)?;
    let right = right.sub(&right.matmul(p)?.matmul(a)?)?;
    left.add(&right)?.sub(&within)
}

impl Plain for PInv {
    const NAME: &'static str = "pinv";
    const INPUTS: usize = 3;
    const SAVES: Saves = Saves { inputs: 1, outputs: 1 };

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (lead, m, n) = matrices(Self::NAME, inputs[0])?;
        if self.hermitian {
            square(Self::NAME, inputs[0])?;
        }
        for tolerance in &inputs[1..] {
            check_dtypes(Self::NAME, inputs[0], tolerance)?;
            ensure(tolerance.dims() == lead, || {
                Error::shapes(Self::NAME, inputs[0].shape(), tolerance.shape(), "[.., m, n] and tolerances [..]")
            })?;
        }
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, [lead, &[n, m]].concat())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[2])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::PseudoInverse { hermitian: self.hermitian })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (p, grad) = (ctx.output(0)?, ctx.grad(0)?);
        let of_a = if self.hermitian {
            let lower = f::tril(&ctx.input(0)?, 0)?;
            let a = lower.add(&f::adjoint(&f::tril(&ctx.input(0)?, -1)?)?)?;
            let whole = gradient(&a, &p, &grad)?;
            whole.add(&f::adjoint(&whole)?)?.affine(0.5, 0.0)?
        } else {
            gradient(&ctx.input(0)?, &p, &grad)?
        };
        Ok(smallvec![Some(of_a), None, None])
    }
}

/// The pseudo-inverse of each matrix, Moore and Penrose's. Singular values up to `max(atol, rtol * largest)` count as 0; the tolerances are numbers
/// or tensors, one for each matrix. Without both, `rtol` is the dtype's epsilon times the longer side. A `hermitian` matrix is
/// symmetric: of it the lower triangle is read, and its eigenvalues count by magnitude.
///
/// The gradient is that of matrices of the same rank.
///
/// # Errors
/// For fewer than two dimensions, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[2f64, 0.0], [0.0, 0.0], [0.0, 4.0]], &Device::Cpu)?;
/// let inverse = opforge::functional::pinv(&a, None, None, false)?;
/// assert_eq!(inverse.to_vec2::<f64>()?, [[0.5, 0.0, 0.0], [0.0, 0.0, 0.25]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, atol = None, rtol = None, hermitian = false)]
#[python(linalg)]
#[operator(DTypes::FACTORED, samples, PInv)]
pub fn pinv(A: &Tensor, atol: Option<Operand<'_>>, rtol: Option<Operand<'_>>, hermitian: bool) -> Result<Tensor> {
    matrices(OP, A.meta())?;
    let rtol = number_each(OP, A, rtol_or_default(A, &atol, rtol))?;
    let atol = number_each(OP, A, atol.unwrap_or(0.0.into()))?;
    dispatch1(&PInv { hermitian }, &[A, &atol, &rtol])
}

/// `(A^T A)^-1 A^T` of two columns, by Cramer's rule.
fn reference(a: &Array) -> Array {
    let squared = product(&turned(a), a);
    let inverse = Array::from_fn(&squared.shape, |i| {
        let s = |r, c| squared.at(&[i[0], r, c]);
        let determinant = s(0, 0) * s(1, 1) - s(0, 1) * s(1, 0);
        let cofactor = if i[1] == i[2] { s(1 - i[1], 1 - i[1]) } else { -s(i[1], i[2]) };
        cofactor / determinant
    });
    product(&inverse, &turned(a))
}

fn samples() -> Vec<Sample> {
    let of = |a: Array, hermitian: bool, reference: fn(&Array) -> Array| {
        let call = move |x: &[&Tensor]| match hermitian {
            true => pinv(&x[0].add(&f::adjoint(x[0])?)?, None, None, true),
            false => pinv(x[0], None, None, false),
        };
        Sample::composed("pinv", call, vec![a], move |x| reference(&x[0])).finite().full_rank()
    };
    let symmetric = |a: &Array| reference(&Array::from_fn(&a.shape, |i| a.at(i) + a.at(&[i[0], i[2], i[1]])));
    let tolerance = Array::new(&[2], vec![0.01, 0.02]);
    let given = Sample::many(PInv { hermitian: false }, vec![sample(3, 2), tolerance.clone(), tolerance], |x| {
        let inverse = reference(&x[0]);
        let counts = |b: usize| x[1].at(&[b]) < 0.5 && x[2].at(&[b]) < 0.5;
        vec![Array::from_fn(&inverse.shape, |i| if counts(i[0]) { inverse.at(i) } else { 0.0 })]
    });
    vec![
        of(sample(3, 2), false, reference),
        of(sample(2, 3), false, |a| turned(&reference(&turned(a)))),
        of(sample(2, 2), true, symmetric),
        given.rough().finite().full_rank(),
    ]
}
