//! `slogdet(A)`: sign and logarithm of the determinant.

use opforge_tile::forms::Dense;

use super::solve::solved;
use crate::family::matrix::{batch_axes, square};
use crate::ops::prelude::*;

/// The operator of [`slogdet`]: `[.., n, n]` to `[.., 2]`, sign and logarithm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct SLogDet;

impl Plain for SLogDet {
    const NAME: &'static str = "slogdet";
    const SAVES: Saves = Saves::INPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        square(Self::NAME, inputs[0])?;
        let lead = &inputs[0].dims()[..inputs[0].rank() - 2];
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, [lead, &[2]].concat())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1])
    }

    fn form(&self) -> Lowering {
        Lowering::Dense(Dense::LogDet)
    }

    /// The logarithm's slope is the inverse, transposed; the sign has none.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (a, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let n = a.dims()[a.rank() - 1];
        let identity = Tensor::eye(n, a.dtype(), a.device())?.broadcast_as(a.shape())?;
        let slope = grad.narrow(grad.rank() - 1, 1, 1)?.unsqueeze(grad.rank())?;
        Ok(smallvec![Some(solved(&a.t()?, &identity)?.broadcast_mul(&slope)?)])
    }
}

/// The sign of each matrix's determinant and the logarithm of its magnitude: 0 and minus infinity for a singular matrix, which has no
/// gradient.
///
/// # Errors
/// For matrices that are not square, and dtypes other than f32 and f64.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[0f32, 1.0], [1.0, 0.0]], &Device::Cpu)?;
/// let (sign, log) = opforge::functional::slogdet(&a)?;
/// assert_eq!((sign.to_scalar::<f32>()?, log.to_scalar::<f32>()?), (-1.0, 0.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, linalg, results(sign, logabsdet))]
#[operator(DTypes::of(&[DType::F32, DType::F64]), samples, SLogDet)]
pub fn slogdet(input: &Tensor) -> Result<(Tensor, Tensor)> {
    let both = dispatch1(&SLogDet, &[input])?;
    let last = both.rank() - 1;
    Ok((both.get_on_dim(last, 0)?, both.get_on_dim(last, 1)?))
}

fn samples() -> Vec<Sample> {
    let a = Array::new(&[2, 2, 2], vec![2.0, 0.5, -0.3, 1.5, 0.2, 1.0, 2.0, 0.7]);
    vec![Sample::new(SLogDet, vec![a], |x| {
        Array::from_fn(&[2, 2], |i| {
            let a = |r: usize, c: usize| x[0].at(&[i[0], r, c]);
            let determinant = a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0);
            if i[1] == 0 { if determinant == 0.0 { 0.0 } else { determinant.signum() } } else { determinant.abs().ln() }
        })
    })]
}
