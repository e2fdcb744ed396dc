//! `svd(A)`: singular vectors and values.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use crate::family::matrix::{batch_axes, identity, matrices, real_dtype, reference_svd, sample};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`svd`]: with `k = min(m, n)`, `U` is `[.., m, k]`, `S` `[.., k]` and `V^H` `[.., k, n]`; `full`, `[.., m, m]` and `[.., n, n]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Svd {
    /// Whether the vectors are completed to bases.
    pub full: bool,
}

impl Plain for Svd {
    const NAME: &'static str = "svd";
    const SAVES: Saves = Saves::OUTPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (lead, m, n) = matrices(Self::NAME, inputs[0])?;
        let k = m.min(n);
        let of = |last: &[usize]| Meta::contiguous(inputs[0].dtype, [lead, last].concat());
        let (left, right) = if self.full { (m, n) } else { (k, k) };
        let values = Meta { dtype: real_dtype(inputs[0].dtype), ..of(&[k]) };
        Ok(smallvec![of(&[m, left]), values, of(&[right, n])])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[2, 1, 2])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Svd)
    }

    /// Townsend, "Differentiating the singular value decomposition", 2016, for the thin vectors; those that complete the bases carry none. Of complex
    /// matrices what does not depend on the vectors' factors of magnitude 1 has a gradient (Wan and Zhang, "Automatic differentiation for complex valued
    /// SVD", 2019).
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (s, dtype) = (ctx.output(1)?, ctx.output(0)?.dtype());
        let (k, rank) = (s.dims()[s.rank() - 1], s.rank() + 1);
        let u = ctx.output(0)?.narrow(rank - 1, 0, k)?;
        let vh = ctx.output(2)?.narrow(rank - 2, 0, k)?;
        let v = f::adjoint(&vh)?;
        let (one, of) = (identity(&s, k)?, |x: &Tensor| x.to_dtype(dtype));
        let squares = s.sqr()?;
        let apart = squares.unsqueeze(rank - 2)?.broadcast_sub(&squares.unsqueeze(rank - 1)?)?.broadcast_add(&one)?;
        let beside = of(&one.affine(-1.0, 1.0)?.broadcast_div(&apart)?)?;
        let (row, column) = (of(&s.unsqueeze(rank - 2)?)?, of(&s.unsqueeze(rank - 1)?)?);
        // Each vector's part that stays among the others: skew(X^H G), divided by differences of squares.
        let among = |turn: &Tensor| turn.sub(&f::adjoint(turn)?)?.mul(&beside);
        // And the part that leaves their space.
        let beyond =
            |vectors: &Tensor, grad: &Tensor, turn: &Tensor| grad.sub(&vectors.matmul(turn)?)?.broadcast_div(&row);
        let mut inner = f::diag_embed(&of(&ctx.grad(1)?)?, 0, -2, -1)?;
        let mut outer = None;
        if ctx.grad_opt(0).is_some() {
            let grad = ctx.grad(0)?.narrow(rank - 1, 0, k)?;
            let turn = f::adjoint(&u)?.matmul(&grad)?;
            inner = inner.add(&among(&turn)?.broadcast_mul(&row)?)?;
            if dtype.is_complex() {
                let angles = f::imag(&f::diagonal(&turn, 0, -2, -1)?)?.div(&s)?;
                inner = inner.add(&f::diag_embed(&f::complex(&angles.zeros_like()?, &angles)?, 0, -2, -1)?)?;
            }
            if u.dims()[rank - 2] > k {
                outer = Some(beyond(&u, &grad, &turn)?.matmul(&vh)?);
            }
        }
        if ctx.grad_opt(2).is_some() {
            let grad = f::adjoint(&ctx.grad(2)?.narrow(rank - 2, 0, k)?)?;
            let turn = vh.matmul(&grad)?;
            inner = inner.add(&among(&turn)?.broadcast_mul(&column)?)?;
            if v.dims()[rank - 2] > k {
                outer = Some(u.matmul(&f::adjoint(&beyond(&v, &grad, &turn)?)?)?);
            }
        }
        let within = u.matmul(&inner)?.matmul(&vh)?;
        Ok(smallvec![Some(match outer {
            Some(outer) => within.add(&outer)?,
            None => within,
        })])
    }
}

/// `U`, `S` and `V^H` with `A = U diag(S) V^H` for each matrix: orthonormal columns of `U` and rows of `V^H`, and singular values, real, in
/// descending order. With `full_matrices` the vectors are completed to bases of their spaces. The vectors are unique up to signs, complex ones up to
/// factors of magnitude 1, if the values differ.
///
/// The gradient through the vectors is finite only where the values differ, and not 0 if the matrix is not square; that through the values
/// alone is [`svdvals`](fn@crate::functional::svdvals)'s. Vectors that complete a basis carry no gradient.
///
/// # Errors
/// For fewer than two dimensions, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[0f32, 3.0], [4.0, 0.0]], &Device::Cpu)?;
/// let (u, s, vh) = opforge::functional::svd(&a, false)?;
/// assert_eq!(s.to_vec1::<f32>()?, [4.0, 3.0]);
/// assert_eq!(u.broadcast_mul(&s)?.matmul(&vh)?.to_vec2::<f32>()?, [[0.0, 3.0], [4.0, 0.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(full_matrices = true)]
#[python(linalg, results(U, S, Vh))]
#[operator(DTypes::FACTORED, samples, Svd)]
pub fn svd(A: &Tensor, full_matrices: bool) -> Result<(Tensor, Tensor, Tensor)> {
    outputs(&Svd { full: full_matrices }, &[A]).map(Into::into)
}

fn samples() -> Vec<Sample> {
    let sample = |m, n, full| {
        let reference = |x: &[Array]| reference_svd(&x[0]).map(|part| part.map(f64::abs)).to_vec();
        Sample::many(Svd { full }, vec![sample(m, n)], reference).finite().full_rank().up_to_sign()
    };
    vec![sample(4, 4, false), sample(4, 2, false), sample(2, 4, false), sample(4, 4, true)]
}
