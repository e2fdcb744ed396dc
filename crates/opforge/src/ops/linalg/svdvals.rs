//! `svdvals(A)`: singular values.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use super::svd::svd;
use crate::family::matrix::{batch_axes, matrices, real_dtype, reference_svd, sample};
use crate::ops::prelude::*;

/// The operator of [`svdvals`]: `[.., m, n]` to `[.., min(m, n)]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct SvdVals;

impl Plain for SvdVals {
    const NAME: &'static str = "svdvals";
    const SAVES: Saves = Saves::INPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (lead, m, n) = matrices(Self::NAME, inputs[0])?;
        Ok(smallvec![Meta::contiguous(real_dtype(inputs[0].dtype), [lead, &[m.min(n)]].concat())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::SingularValues)
    }

    /// `U diag(g) V^H`.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (u, _, vh) = svd(&ctx.input(0)?, false)?;
        Ok(smallvec![Some(u.broadcast_mul(&ctx.grad(0)?.to_dtype(u.dtype())?.unsqueeze(u.rank() - 2)?)?.matmul(&vh)?)])
    }
}

/// The singular values of each matrix, in descending order.
///
/// # Errors
/// For fewer than two dimensions, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[0f32, 3.0], [-4.0, 0.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::svdvals(&a)?.to_vec1::<f32>()?, [4.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(linalg)]
#[operator(DTypes::FACTORED, samples, SvdVals)]
pub fn svdvals(A: &Tensor) -> Result<Tensor> {
    dispatch1(&SvdVals, &[A])
}

fn samples() -> Vec<Sample> {
    let values = |x: &[Array]| {
        let [_, s, _] = reference_svd(&x[0]);
        s
    };
    [(4, 4), (4, 2), (2, 4)].map(|(m, n)| Sample::new(SvdVals, vec![sample(m, n)], values).finite()).to_vec()
}
