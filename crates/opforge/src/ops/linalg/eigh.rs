//! `eigh(A)`: eigenvalues and eigenvectors of symmetric matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use crate::family::matrix::{batch_axes, identity, real_dtype, reference_svd, sample, square, turned};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`eigh`]: `[.., n, n]` to values, `[.., n]`, and vectors in columns, `[.., n, n]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Eigh {
    /// Whether the upper triangle is read, not the lower.
    pub upper: bool,
}

/// The triangle that `UPLO` names.
pub(super) fn is_upper(op: &'static str, uplo: &str) -> Result<bool> {
    match uplo {
        "L" | "l" => Ok(false),
        "U" | "u" => Ok(true),
        other => Err(Error::value(op, "UPLO", other, "\"L\" or \"U\"")),
    }
}

/// The name of a triangle.
pub(super) fn triangle(upper: bool) -> &'static str {
    if upper { "U" } else { "L" }
}

impl Plain for Eigh {
    const NAME: &'static str = "eigh";
    const SAVES: Saves = Saves::OUTPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let a = inputs[0];
        square(Self::NAME, a)?;
        let values = Meta::contiguous(real_dtype(a.dtype), &a.dims()[..a.rank() - 1]);
        Ok(smallvec![values, Meta::contiguous(a.dtype, a.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1, 2])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Eigh { upper: self.upper })
    }

    /// `V (diag(g) + V^H G / E) V^H` with `E_ij = l_j - l_i` beside the diagonal (Giles, "An extended collection of matrix derivative results",
    /// 2008, 3.1).
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (values, vectors) = (ctx.output(0)?, ctx.output(1)?);
        let (n, rank) = (values.dims()[values.rank() - 1], vectors.rank());
        let (adjoint, of) = (f::adjoint(&vectors)?, |x: &Tensor| x.to_dtype(vectors.dtype()));
        let mut inner = f::diag_embed(&of(&ctx.grad(0)?)?, 0, -2, -1)?;
        if ctx.grad_opt(1).is_some() {
            let identity = identity(&values, n)?;
            let apart =
                values.unsqueeze(rank - 2)?.broadcast_sub(&values.unsqueeze(rank - 1)?)?.broadcast_add(&identity)?;
            let turn = adjoint.matmul(&ctx.grad(1)?)?.div(&of(&apart)?)?;
            inner = inner.add(&turn.broadcast_mul(&of(&identity.affine(-1.0, 1.0)?)?)?)?;
            inner = inner.add(&f::adjoint(&inner)?)?.affine(0.5, 0.0)?;
        }
        Ok(smallvec![Some(vectors.matmul(&inner)?.matmul(&adjoint)?)])
    }
}

/// The eigenvalues of each symmetric or Hermitian matrix, real and in ascending order, and orthonormal eigenvectors in columns. Only the triangle
/// that `UPLO` names is read: `"L"` or `"U"`. The vectors are unique up to signs, complex ones up to factors of magnitude 1, if the values differ; there
/// is a gradient of what does not depend on those.
///
/// The gradient is that of a symmetric matrix; through the vectors it is finite only where the values differ.
///
/// # Errors
/// For matrices that are not square, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[3f64, 0.0], [0.0, 1.0]], &Device::Cpu)?;
/// let (values, vectors) = opforge::functional::eigh(&a, "L")?;
/// assert_eq!(values.to_vec1::<f64>()?, [1.0, 3.0]);
/// assert_eq!(vectors.abs()?.to_vec2::<f64>()?, [[0.0, 1.0], [1.0, 0.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(UPLO = "L")]
#[python(linalg, results(eigenvalues, eigenvectors))]
#[operator(DTypes::FACTORED, samples, Eigh)]
pub fn eigh(A: &Tensor, UPLO: &str) -> Result<(Tensor, Tensor)> {
    outputs(&Eigh { upper: is_upper(OP, UPLO)? }, &[A]).map(Into::into)
}

/// Added to what references factor, so that it is positive definite.
const SHIFT: f64 = 4.0;

/// Values and absolute vectors of the matrices that the lower triangles tell: the singular ones of shifted matrices, in reverse.
pub(super) fn reference(a: &Array) -> [Array; 2] {
    let shift = |i: &[usize]| if i[1] == i[2] { SHIFT } else { 0.0 };
    let shifted = Array::from_fn(&a.shape, |i| a.at(&[i[0], i[1].max(i[2]), i[1].min(i[2])]) + shift(i));
    let [vectors, values, _] = reference_svd(&shifted);
    let last = a.shape[1].saturating_sub(1);
    [
        Array::from_fn(&values.shape, |i| values.at(&[i[0], last - i[1]]) - SHIFT),
        Array::from_fn(&vectors.shape, |i| vectors.at(&[i[0], i[1], last - i[2]]).abs()),
    ]
}

/// Of `A + A^T`: differences of both triangles tell the gradient.
pub(super) fn symmetric_sample(
    name: &'static str,
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    pick: fn([Array; 2]) -> Array,
) -> Sample {
    let call = move |x: &[&Tensor]| call(&x[0].add(&f::adjoint(x[0])?)?);
    let sum = |a: &Array| Array::from_fn(&a.shape, |i| a.at(i) + a.at(&[i[0], i[2], i[1]]));
    Sample::composed(name, call, vec![sample(3, 3)], move |x| pick(reference(&sum(&x[0])))).finite().full_rank()
}

/// Two triangles that tell different matrices.
fn lopsided(upper: bool) -> Sample {
    let reference = move |x: &[Array]| {
        let parts = reference(&if upper { turned(&x[0]) } else { x[0].clone() });
        parts.map(|part| part.map(f64::abs)).to_vec()
    };
    Sample::many(Eigh { upper }, vec![sample(3, 3)], reference).finite().full_rank().up_to_sign().rough()
}

fn samples() -> Vec<Sample> {
    let vectors = |upper| move |a: &Tensor| eigh(a, triangle(upper))?.1.abs();
    vec![
        symmetric_sample("eigh", vectors(false), |[_, v]| v),
        symmetric_sample("eigh", vectors(true), |[_, v]| v),
        symmetric_sample("eigh", |a| Ok(eigh(a, "L")?.0), |[s, _]| s),
        lopsided(false),
        lopsided(true),
    ]
}
