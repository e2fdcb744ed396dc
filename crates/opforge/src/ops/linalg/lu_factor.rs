//! `lu_factor(A)`: Gauss's elimination with exchanges of rows.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use super::lu_permutation::lu_permutation;
use super::solve_triangular::triangular;
use crate::family::matrix::{batch_axes, matrices, sample};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`lu_factor`]: `[.., m, n]` to both triangles, `[.., m, n]`, and exchanges, `[.., min(m, n)]` in i32.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct LuFactor;

/// The rows, or those that come to these places if `back`, in an order, `[.., m]`.
pub(crate) fn reordered(rows: &Tensor, order: &Tensor, back: bool) -> Result<Tensor> {
    let order = if back { f::argsort(order, -1, false, true)? } else { order.clone() };
    let ids = order.unsqueeze(order.rank())?.broadcast_as(rows.shape())?;
    f::gather(rows, -2, &ids)
}

/// The triangles of both: `L`, `[.., m, k]`, with ones on its diagonal, and `U`, `[.., k, n]`.
pub(crate) fn triangles(both: &Tensor) -> Result<(Tensor, Tensor)> {
    let (_, m, n) = matrices("lu", both.meta())?;
    let (k, row, column) = (m.min(n), both.rank() - 2, both.rank() - 1);
    let ones = f::eye(m as i64, Some(k as i64), Some(both.dtype()), Some(*both.device()), false)?;
    let lower = f::tril(&both.narrow(column, 0, k)?, -1)?.broadcast_add(&ones)?;
    Ok((lower, f::triu(&both.narrow(row, 0, k)?, 0)?))
}

/// The square part's gradient is `L^-H phi U^-H`, with `phi` the lower triangle of `L^H G` below the diagonal and the upper one of `G U^H`; what
/// is wider or taller follows from `U2 = L^-1 A2` or `L2 = A2 U^-1`. The rows are then put back.
fn gradient(both: &Tensor, order: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (_, m, n) = matrices("lu", both.meta())?;
    let (k, row, column) = (m.min(n), both.rank() - 2, both.rank() - 1);
    let part = |t: &Tensor, rows: (usize, usize), columns: (usize, usize)| {
        t.narrow(row, rows.0, rows.1 - rows.0)?.narrow(column, columns.0, columns.1 - columns.0)
    };
    let (square, of_square) = (part(both, (0, k), (0, k))?, part(grad, (0, k), (0, k))?);
    let (lower, upper) = triangles(&square)?;
    let (right, of_right) = (part(both, (0, k), (k, n))?, part(grad, (0, k), (k, n))?);
    let (below, of_below) = (part(both, (k, m), (0, k))?, part(grad, (k, m), (0, k))?);
    let lower_adjoint = f::adjoint(&lower)?;
    let below_diagonal =
        lower_adjoint.matmul(&f::tril(&of_square, -1)?)?.sub(&of_right.matmul(&f::adjoint(&right)?)?)?;
    let above = f::triu(&of_square, 0)?.matmul(&f::adjoint(&upper)?)?.sub(&f::adjoint(&below)?.matmul(&of_below)?)?;
    let phi = f::tril(&below_diagonal, -1)?.add(&f::triu(&above, 0)?)?;
    let from_left = |x: &Tensor| triangular(&lower_adjoint, x, true, true);
    let from_right = |x: &Tensor| f::adjoint(&triangular(&upper, &f::adjoint(x)?, true, false)?);
    let mut of_a = from_left(&from_right(&phi)?)?;
    if n > k {
        of_a = Tensor::cat(&[&of_a, &from_left(&of_right)?], column)?;
    }
    if m > k {
        of_a = Tensor::cat(&[&of_a, &from_right(&of_below)?], row)?;
    }
    reordered(&of_a, order, true)
}

impl Plain for LuFactor {
    const NAME: &'static str = "lu_factor";
    const SAVES: Saves = Saves::OUTPUTS;
    const DIFFERENTIABLE_OUTPUTS: u32 = 1;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (lead, m, n) = matrices(Self::NAME, inputs[0])?;
        let pivots = Meta::contiguous(DType::I32, [lead, &[m.min(n)]].concat());
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape()), pivots])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[2, 1])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Lu)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let both = ctx.output(0)?;
        let order = lu_permutation(&ctx.output(1)?, both.dims()[both.rank() - 2])?;
        Ok(smallvec![Some(gradient(&both, &order, &ctx.grad(0)?)?)])
    }
}

/// For each matrix `L` and `U` with `A = P L U`, in one matrix: `U` on and above the diagonal, `L` below it, whose own diagonal is ones. And
/// i32 that tell `P`: the row, counted from 1, that each step exchanged its own with. Other functions take both as they are. The factors of a
/// matrix with NaN or infinities are NaN.
///
/// # Errors
/// For fewer than two dimensions, `pivot` false unless there are no elements, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[1f32, 2.0], [2.0, 2.0]], &Device::Cpu)?;
/// let (both, pivots) = opforge::functional::lu_factor(&a, true)?;
/// assert_eq!(both.to_vec2::<f32>()?, [[2.0, 2.0], [0.5, 1.0]]);
/// assert_eq!(pivots.to_vec1::<i32>()?, [2, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, pivot = true)]
#[python(linalg, results(LU, pivots))]
#[operator(DTypes::FACTORED, samples, LuFactor)]
pub fn lu_factor(A: &Tensor, pivot: bool) -> Result<(Tensor, Tensor)> {
    ensure(pivot || A.elem_count() == 0, || Error::value(OP, "pivot", false, "true"))?;
    outputs(&LuFactor, &[A]).map(Into::into)
}

/// Doolittle's scheme with exchanges; NaN of what is not finite.
fn samples() -> Vec<Sample> {
    let eliminated = |x: &[Array]| {
        let mut both = x[0].clone();
        let [batch, m, n] = both.shape[..] else { panic!("a batch of matrices") };
        let mut pivots = Array::from_fn(&[batch, m.min(n)], |_| 0.0);
        for (b, step) in (0..batch).flat_map(|b| (0..m.min(n)).map(move |step| (b, step))) {
            let at = |i: usize, j: usize| (b * m + i) * n + j;
            let larger = |best: usize, i: usize| {
                if both.data[at(i, step)].abs() > both.data[at(best, step)].abs() { i } else { best }
            };
            let pivot = (step..m).fold(step, larger);
            (0..n).for_each(|j| both.data.swap(at(step, j), at(pivot, j)));
            pivots.data[b * m.min(n) + step] = pivot as f64 + 1.0;
            for i in step + 1..m {
                both.data[at(i, step)] /= both.data[at(step, step)];
                let factor = both.data[at(i, step)];
                (step + 1..n).for_each(|j| both.data[at(i, j)] -= factor * both.data[at(step, j)]);
            }
        }
        for b in (0..batch).filter(|b| x[0].data[b * m * n..(b + 1) * m * n].iter().any(|x| !x.is_finite())) {
            both.data[b * m * n..(b + 1) * m * n].fill(f64::NAN);
            (0..m.min(n)).for_each(|step| pivots.data[b * m.min(n) + step] = step as f64 + 1.0);
        }
        vec![both, pivots]
    };
    [(4, 4), (4, 2), (2, 4)].map(|(m, n)| Sample::many(LuFactor, vec![sample(m, n)], eliminated).full_rank()).to_vec()
}
