//! `svd(A)`: singular vectors and values.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use crate::family::matrix::{batch_axes, identity, matrices, reference_svd, sample};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`svd`]: with `k = min(m, n)`, `U` is `[.., m, k]`, `S` `[.., k]` and `V^T` `[.., k, n]`; `full`, `[.., m, m]` and `[.., n, n]`.
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
        Ok(smallvec![of(&[m, left]), of(&[k]), of(&[right, n])])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[2, 1, 2])
    }

    fn form(&self) -> Lowering {
        Lowering::Dense(Dense::Svd)
    }

    /// Townsend, "Differentiating the singular value decomposition", 2016, for the thin vectors; those that complete the bases carry none.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let s = ctx.output(1)?;
        let (k, rank) = (s.dims()[s.rank() - 1], s.rank() + 1);
        let u = ctx.output(0)?.narrow(rank - 1, 0, k)?;
        let v = ctx.output(2)?.narrow(rank - 2, 0, k)?.t()?;
        let (row, column) = (s.unsqueeze(rank - 2)?, s.unsqueeze(rank - 1)?);
        // Each vector's part that stays among the others: skew(X^T G), divided by differences of squares.
        let apart = row.sqr()?.broadcast_sub(&column.sqr()?)?.broadcast_add(&identity(&s, k)?)?;
        let among = |vectors: &Tensor, grad: &Tensor| -> Result<Tensor> {
            let turn = vectors.t()?.matmul(grad)?;
            turn.sub(&turn.t()?)?.div(&apart)
        };
        // And the part that leaves their space.
        let beyond = |vectors: &Tensor, grad: &Tensor| -> Result<Tensor> {
            grad.sub(&vectors.matmul(&vectors.t()?.matmul(grad)?)?)?.broadcast_div(&row)
        };
        let mut inner = f::diag_embed(&ctx.grad(1)?, 0, -2, -1)?;
        let mut outer = None;
        if ctx.grad_opt(0).is_some() {
            let grad = ctx.grad(0)?.narrow(rank - 1, 0, k)?;
            inner = inner.add(&among(&u, &grad)?.broadcast_mul(&row)?)?;
            if u.dims()[rank - 2] > k {
                outer = Some(beyond(&u, &grad)?.matmul(&v.t()?)?);
            }
        }
        if ctx.grad_opt(2).is_some() {
            let grad = ctx.grad(2)?.narrow(rank - 2, 0, k)?.t()?;
            inner = inner.add(&among(&v, &grad)?.broadcast_mul(&column)?)?;
            if v.dims()[rank - 2] > k {
                outer = Some(u.matmul(&beyond(&v, &grad)?.t()?)?);
            }
        }
        let within = u.matmul(&inner)?.matmul(&v.t()?)?;
        Ok(smallvec![Some(match outer {
            Some(outer) => within.add(&outer)?,
            None => within,
        })])
    }
}

/// `U`, `S` and `V^T` with `A = U diag(S) V^T` for each matrix: orthonormal columns of `U` and rows of `V^T`, and singular values in
/// descending order. With `full_matrices` the vectors are completed to bases of their spaces. The vectors are unique up to signs if the
/// values differ.
///
/// The gradient through the vectors is finite only where the values differ, and not 0 if the matrix is not square; that through the values
/// alone is [`svdvals`](fn@crate::functional::svdvals)'s. Vectors that complete a basis carry no gradient.
///
/// # Errors
/// For fewer than two dimensions, NaN and infinities, and dtypes other than f32 and f64.
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
#[operator(DTypes::of(&[DType::F32, DType::F64]), samples, Svd)]
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
