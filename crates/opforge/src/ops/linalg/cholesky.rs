//! `cholesky(A) = L` with `A = L L^T`.

use opforge_cpu::dense::{Dense, dense};

use super::solve_triangular::triangular;
use crate::functional as f;
use crate::operator::matrix::square;
use crate::operator::prelude::*;

/// The operator of [`cholesky`]: the lower factor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cholesky;

impl Operator for Cholesky {
    fn name(&self) -> &'static str {
        "cholesky"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("cholesky", inputs, 1)?;
        square("cholesky", inputs[0])?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let rank = inputs[0].rank();
        same_axes(inputs[0], &[rank - 2, rank - 1])
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        dense("cholesky", Dense::Cholesky, inputs, outputs)
    }

    fn saves(&self) -> Saves {
        Saves::OUTPUTS
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(gradient(&ctx.output(0)?, &ctx.grad(0)?)?)])
    }
}

/// `L^-T phi(L^T G) L^-1`, made symmetric; `phi` takes the lower triangle with half of the diagonal (Murray, "Differentiation of the Cholesky
/// decomposition", 2016).
pub(super) fn gradient(factor: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (upper, n) = (factor.t()?, factor.dims()[factor.rank() - 1]);
    let ones = Tensor::tril2(n, grad.dtype(), grad.device())?;
    let halves = Tensor::eye(n, grad.dtype(), grad.device())?.affine(0.5, 0.0)?;
    let phi = upper.matmul(grad)?.broadcast_mul(&ones.sub(&halves)?)?;
    let inner = triangular(&upper, &triangular(&upper, &phi, true, false)?.t()?, true, false)?;
    inner.add(&inner.t()?)?.affine(0.5, 0.0)
}

function! {
    /// The lower triangular `L` with `A = L L^T`, of each positive definite matrix; with `upper` its transpose. Only the lower triangle of `A` is
    /// read.
    ///
    /// # Errors
    /// For matrices that are not square or not positive definite, those with NaN among them, and dtypes other than f32 and f64.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let a = Tensor::new(&[[4f32, 2.0], [2.0, 5.0]], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::cholesky(&a, false)?.to_vec2::<f32>()?, [[2.0, 0.0], [1.0, 2.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, method, linalg)]
    pub fn cholesky(input: &Tensor; upper: bool = false) -> Result<Tensor> {
        let factor = dispatch1(&Cholesky, &[input])?;
        if upper { f::transpose(&factor, -2, -1) } else { Ok(factor) }
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: "cholesky", function: &FUNCTION, dtypes: DTypes::of(&[DType::F32, DType::F64]), samples };

/// Of `A A^T + I`, which is positive definite.
fn samples() -> Vec<Sample> {
    let definite = |x: &Tensor| x.matmul(&x.t()?)?.broadcast_add(&Tensor::eye(3, x.dtype(), x.device())?);
    let call = move |x: &[&Tensor]| cholesky(&definite(x[0])?, false);
    vec![
        Sample::composed("cholesky", call, vec![Array::spread(&[2, 3, 3], -1.0..1.0)], |x| {
            let mut factor = Array::from_fn(&[2, 3, 3], |_| 0.0);
            for (b, i, j) in (0..18).map(|at| (at / 9, at / 3 % 3, at % 3)).filter(|(_, i, j)| j <= i) {
                let dot = |m: &Array, i: usize, j: usize, end: usize| -> f64 {
                    (0..end).map(|k| m.at(&[b, i, k]) * m.at(&[b, j, k])).sum()
                };
                let rest = dot(&x[0], i, j, 3) + f64::from(u8::from(i == j)) - dot(&factor, i, j, j);
                factor.data[b * 9 + i * 3 + j] = if i == j { rest.sqrt() } else { rest / factor.at(&[b, j, j]) };
            }
            factor
        })
        .finite(),
    ]
}
