//! `solve(A, B) = X` with `A X = B`.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use crate::family::matrix::{over_batch, right_hand_side, solve_axes, square};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`solve`]: `A` is `[.., n, n]`, `B` `[.., n, k]`, with equal leading dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Solve;

/// `A^-1 B`.
#[track_caller]
pub(super) fn solved(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    dispatch1(&Solve, &[a, b])
}

impl Plain for Solve {
    const NAME: &'static str = "solve";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves { inputs: 1, outputs: u32::MAX };

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        right_hand_side(Self::NAME, inputs[0], inputs[1])?;
        Ok(smallvec![Meta::contiguous(inputs[1].dtype, inputs[1].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        solve_axes(inputs)
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Solve)
    }

    /// `A^-H G` for B, and minus that times `X^H` for A.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let of_b = solved(&f::adjoint(&ctx.input(0)?)?, &ctx.grad(0)?)?;
        let of_a = ctx.when(0, || of_b.matmul(&f::adjoint(&ctx.output(0)?)?)?.neg())?;
        Ok(smallvec![of_a, Some(of_b)])
    }
}

/// The `X` with `A X = B`, or `X A = B` if not `left`, for each matrix of a batch; leading dimensions are broadcast. A `B` of one dimension
/// less than `A` holds vectors.
///
/// # Errors
/// For matrices that are not square or have no inverse, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[2f32, 0.0], [0.0, 4.0]], &Device::Cpu)?;
/// let b = Tensor::new(&[2f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::solve(&a, &b, true)?.to_vec1::<f32>()?, [1.0, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, left = true)]
#[python(linalg)]
#[operator(DTypes::FACTORED, samples, Solve)]
pub fn solve(A: &Tensor, B: &Tensor, left: bool) -> Result<Tensor> {
    square(OP, A.meta())?;
    let vectors = B.rank() == 1 || (B.rank() + 1 == A.rank() && B.dims() == &A.dims()[..A.rank() - 1]);
    if vectors {
        let column = solve(A, &B.unsqueeze(B.rank())?, left)?;
        return column.squeeze(column.rank() - 1);
    }
    if !left {
        let x = solve(&f::transpose(A, -2, -1)?, &f::transpose(B, -2, -1)?, true)?;
        return f::transpose(&x, -2, -1);
    }
    let (a, b) = over_batch(OP, A, B)?;
    solved(&a, &b)
}

/// By Cramer's rule. Operands are limited by tanh, since infinities take other ways there.
fn samples() -> Vec<Sample> {
    let call = |x: &[&Tensor]| {
        let diagonal = Tensor::eye(2, x[0].dtype(), x[0].device())?.affine(3.0, 0.0)?;
        solved(&x[0].tanh()?.broadcast_add(&diagonal)?, &x[1].tanh()?)
    };
    let reference = |x: &[Array]| {
        Array::from_fn(&[2, 2, 3], |i| {
            let a = |r: usize, c: usize| x[0].at(&[i[0], r, c]).tanh() + if r == c { 3.0 } else { 0.0 };
            let b = |r: usize| x[1].at(&[i[0], r, i[2]]).tanh();
            let determinant = a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0);
            let own = if i[1] == 0 { b(0) * a(1, 1) - a(0, 1) * b(1) } else { a(0, 0) * b(1) - b(0) * a(1, 0) };
            own / determinant
        })
    };
    let inputs = vec![Array::spread(&[2, 2, 2], -2.0..2.0), Array::spread(&[2, 2, 3], -2.0..2.0)];
    vec![Sample::composed("solve", call, inputs, reference)]
}
