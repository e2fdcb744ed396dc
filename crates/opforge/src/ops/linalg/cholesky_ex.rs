//! `cholesky_ex(A)`: the Cholesky factor, and whether there is one.

use opforge_tile::forms::Dense;

use super::cholesky::{definite_sample, gradient, reference};
use crate::family::matrix::{batch_axes, sample, square};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`cholesky_ex`]: the lower factor, and i32 by which a matrix without one is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct CholeskyEx;

impl Plain for CholeskyEx {
    const NAME: &'static str = "cholesky_ex";
    const SAVES: Saves = Saves { inputs: 0, outputs: 1 };
    const DIFFERENTIABLE_OUTPUTS: u32 = 1;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let a = inputs[0];
        square(Self::NAME, a)?;
        let info = Meta::contiguous(DType::I32, &a.dims()[..a.rank() - 2]);
        Ok(smallvec![Meta::contiguous(a.dtype, a.shape()), info])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[2, 0])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::CholeskyInfo)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(gradient(&ctx.output(0)?, &ctx.grad(0)?)?)])
    }
}

/// The factor of [`cholesky`](fn@crate::functional::cholesky), and an i32 for each matrix: 0, or the order of its first leading minor that is
/// not positive definite. The factor of such a matrix, and of one that is not
/// finite, is NaN.
///
/// # Errors
/// For matrices that are not square, and dtypes other than f32, f64, c64 and c128; with `check_errors`, for those not positive definite.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[[4f32, 0.0], [0.0, 9.0]], [[1.0, 2.0], [2.0, 1.0]]], &Device::Cpu)?;
/// let (_, info) = opforge::functional::cholesky_ex(&a, false, false)?;
/// assert_eq!(info.to_vec1::<i32>()?, [0, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, upper = false, check_errors = false)]
#[python(linalg, results(L, info))]
#[operator(DTypes::FACTORED, samples, CholeskyEx)]
pub fn cholesky_ex(input: &Tensor, upper: bool, check_errors: bool) -> Result<(Tensor, Tensor)> {
    let read = if upper { f::adjoint(input)? } else { input.clone() };
    let [factor, info] = outputs(&CholeskyEx, &[&read])?;
    if check_errors {
        f::check_info(OP, &info, "positive definite matrices")?;
    }
    Ok((if upper { f::adjoint(&factor)? } else { factor }, info))
}

/// A positive definite matrix and one whose minors are until the last; only their lower triangles tell.
fn samples() -> Vec<Sample> {
    let mut matrices = sample(3, 3);
    matrices.data[17] = -1.0;
    vec![
        definite_sample("cholesky_ex", |a| Ok(cholesky_ex(a, false, false)?.0)),
        Sample::many(CholeskyEx, vec![matrices], |x| reference(&x[0]).to_vec()).full_rank().rough(),
    ]
}
