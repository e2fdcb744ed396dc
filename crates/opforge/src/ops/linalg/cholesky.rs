//! `cholesky(A) = L` with `A = L L^T`.

use opforge_tile::forms::Dense;

use super::solve_triangular::triangular;
use crate::family::matrix::{identity, product, square, turned};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`cholesky`]: the lower factor.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Cholesky;

impl Plain for Cholesky {
    const NAME: &'static str = "cholesky";
    const SAVES: Saves = Saves::OUTPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        square(Self::NAME, inputs[0])?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let rank = inputs[0].rank();
        same_axes(inputs[0], &[rank - 2, rank - 1])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Cholesky)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(gradient(&ctx.output(0)?, &ctx.grad(0)?)?)])
    }
}

/// `L^-H phi(L^H G) L^-1`, made Hermitian; `phi` takes the lower triangle with half of the diagonal (Murray, "Differentiation of the Cholesky
/// decomposition", 2016).
pub(super) fn gradient(factor: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (upper, n) = (f::adjoint(factor)?, factor.dims()[factor.rank() - 1]);
    let whole = upper.matmul(grad)?;
    let halves = Tensor::eye(n, grad.dtype(), grad.device())?.affine(0.5, 0.0)?;
    let phi = f::tril(&whole, 0)?.sub(&whole.broadcast_mul(&halves)?)?;
    let inner = triangular(&upper, &f::adjoint(&triangular(&upper, &phi, true, false)?)?, true, false)?;
    inner.add(&f::adjoint(&inner)?)?.affine(0.5, 0.0)
}

/// The lower triangular `L` with `A = L L^H`, of each positive definite matrix; with `upper` its adjoint. Only the lower triangle of `A` is
/// read, with `upper` the upper one.
///
/// # Errors
/// For matrices that are not square or not positive definite, those with NaN among them, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[4f32, 2.0], [2.0, 5.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cholesky(&a, false)?.to_vec2::<f32>()?, [[2.0, 0.0], [1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, upper = false)]
#[python(torch, method, linalg)]
#[operator(DTypes::FACTORED, samples, Cholesky)]
pub fn cholesky(input: &Tensor, upper: bool) -> Result<Tensor> {
    match upper {
        true => f::adjoint(&dispatch1(&Cholesky, &[&f::adjoint(input)?])?),
        false => dispatch1(&Cholesky, &[input]),
    }
}

/// The factors of matrices and, of each, 0 or the order of the first leading minor that is not positive definite, with NaN as the factor.
pub(super) fn reference(a: &Array) -> [Array; 2] {
    let (batch, n) = (a.shape[0], a.shape[1]);
    let (mut factor, mut info) = (a.map(|_| 0.0), Array::new(&[batch], vec![0.0; batch]));
    for (b, i, j) in (0..batch * n * n).map(|at| (at / (n * n), at / n % n, at % n)).filter(|(_, i, j)| j <= i) {
        let rest = a.at(&[b, i, j]) - (0..j).map(|k| factor.at(&[b, i, k]) * factor.at(&[b, j, k])).sum::<f64>();
        factor.data[(b * n + i) * n + j] = if i == j { rest.sqrt() } else { rest / factor.at(&[b, j, j]) };
        let positive = i != j || (rest > 0.0 && rest.is_finite());
        if !positive && info.data[b] == 0.0 {
            info.data[b] = i as f64 + 1.0;
        }
    }
    let factor = Array::from_fn(&a.shape, |i| if info.at(&i[..1]) > 0.0 { f64::NAN } else { factor.at(i) });
    [factor, info]
}

/// The factor of `A A^T + I`, which is positive definite: differences of both triangles tell the gradient.
pub(super) fn definite_sample(
    name: &'static str,
    factor: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Sample {
    let call = move |x: &[&Tensor]| factor(&x[0].matmul(&f::adjoint(x[0])?)?.broadcast_add(&identity(x[0], 3)?)?);
    Sample::composed(name, call, vec![Array::spread(&[2, 3, 3], -1.0..1.0)], |x| {
        let mut definite = product(&x[0], &turned(&x[0]));
        definite.data.iter_mut().enumerate().filter(|(at, _)| at % 9 % 4 == 0).for_each(|(_, x)| *x += 1.0);
        let [factor, _] = reference(&definite);
        factor
    })
}

fn samples() -> Vec<Sample> {
    vec![definite_sample("cholesky", |a| cholesky(a, false)).finite()]
}
