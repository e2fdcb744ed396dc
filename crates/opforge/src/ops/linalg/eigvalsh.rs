//! `eigvalsh(A)`: eigenvalues of symmetric matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use super::eigh::{self, eigh};
use crate::family::matrix::{self, batch_axes, real_dtype, square, turned};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`eigvalsh`]: `[.., n, n]` to `[.., n]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct EigValsH {
    /// Whether the upper triangle is read, not the lower.
    pub upper: bool,
}

impl Plain for EigValsH {
    const NAME: &'static str = "eigvalsh";
    const SAVES: Saves = Saves::INPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        square(Self::NAME, inputs[0])?;
        Ok(smallvec![Meta::contiguous(real_dtype(inputs[0].dtype), &inputs[0].dims()[..inputs[0].rank() - 1])])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::EigenvaluesSymmetric { upper: self.upper })
    }

    /// `V diag(g) V^H`.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (_, vectors) = eigh(&ctx.input(0)?, eigh::triangle(self.upper))?;
        let scaled = vectors.broadcast_mul(&ctx.grad(0)?.to_dtype(vectors.dtype())?.unsqueeze(vectors.rank() - 2)?)?;
        Ok(smallvec![Some(scaled.matmul(&f::adjoint(&vectors)?)?)])
    }
}

/// The eigenvalues of each symmetric or Hermitian matrix, in ascending order. Only the triangle that `UPLO` names is read: `"L"` or `"U"`. The gradient is
/// that of a symmetric matrix.
///
/// # Errors
/// For matrices that are not square, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[3f64, 0.0], [0.0, 1.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::eigvalsh(&a, "L")?.to_vec1::<f64>()?, [1.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(UPLO = "L")]
#[python(linalg)]
#[operator(DTypes::FACTORED, samples, EigValsH)]
pub fn eigvalsh(A: &Tensor, UPLO: &str) -> Result<Tensor> {
    dispatch1(&EigValsH { upper: eigh::is_upper(OP, UPLO)? }, &[A])
}

fn samples() -> Vec<Sample> {
    let sample = |upper| eigh::symmetric_sample("eigvalsh", move |a| eigvalsh(a, eigh::triangle(upper)), |[s, _]| s);
    // Of one triangle, the gradient with respect to single elements is another.
    let one = Sample::new(EigValsH { upper: true }, vec![matrix::sample(3, 3)], |x| {
        eigh::reference(&turned(&x[0]))[0].clone()
    });
    vec![sample(false), sample(true), one.finite().full_rank().rough()]
}
