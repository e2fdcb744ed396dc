//! `slogdet(A)`: sign and logarithm of the determinant.

use opforge_tile::forms::Dense;

use super::solve::solved;
use crate::family::matrix::{batch_axes, identity, real_dtype, square};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`slogdet`]: `[.., n, n]` to sign and logarithm, `[.., 2]`, and the determinant itself, `[..]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct SLogDet;

impl Plain for SLogDet {
    const NAME: &'static str = "slogdet";
    const SAVES: Saves = Saves { inputs: 1, outputs: 1 };

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        square(Self::NAME, inputs[0])?;
        let lead = &inputs[0].dims()[..inputs[0].rank() - 2];
        let of = |last: &[usize]| Meta::contiguous(inputs[0].dtype, [lead, last].concat());
        Ok(smallvec![of(&[2]), of(&[])])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1, 0])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::LogDet)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let a = ctx.input(0)?;
        let of_log = ctx.grad_opt(0).map(|grad| of_sign_and_logarithm(&a, &ctx.output(0)?, grad)).transpose()?;
        let of_itself = ctx.grad_opt(1).map(|grad| of_determinant(&a, grad)).transpose()?;
        Ok(smallvec![match (of_log, of_itself) {
            (Some(x), Some(y)) => Some(x.add(&y)?),
            (x, y) => x.or(y),
        }])
    }
}

/// `c A^-H`: `c` has the logarithm's gradient and, of complex matrices, `i im(s' g)` for a sign `s` with the gradient `g`. A real sign has none.
fn of_sign_and_logarithm(a: &Tensor, both: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let identity = identity(a, a.dims()[a.rank() - 1])?.broadcast_as(a.shape())?;
    let of = |all: &Tensor, place: usize| all.narrow(all.rank() - 1, place, 1)?.unsqueeze(all.rank());
    let mut slope = of(grad, 1)?;
    if a.dtype().is_complex() {
        let turn = f::conj(&of(both, 0)?)?.mul(&of(grad, 0)?)?;
        slope = f::complex(&f::real(&slope)?, &f::imag(&turn)?)?;
    }
    solved(&f::adjoint(a)?, &identity)?.broadcast_mul(&slope)
}

/// `det' A^-H` times the gradient. Of singular matrices a pivot of 0 becomes a rounding error of the largest element: it is a factor of the
/// determinant and a divisor in the inverse, so that the product is as near to the adjugate as rounding allows.
fn of_determinant(a: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (n, rank) = (a.dims()[a.rank() - 1], a.rank());
    if n == 0 {
        return a.zeros_like();
    }
    let (both, pivots) = f::lu_factor(a, true)?;
    let diagonal = f::diagonal(&both, 0, -2, -1)?;
    let none = f::eq((&diagonal).into(), 0.0.into())?;
    let kept = f::where_cond(&none, (&rounding_error(&a.detach())?).into(), (&diagonal).into())?;
    let both = both.add(&f::diag_embed(&kept.sub(&diagonal)?, 0, -2, -1)?)?;
    let steps = Tensor::arange(1i32, n as i32 + 1, a.device())?;
    let exchanged = f::ne((&pivots).into(), (&steps).into())?.to_dtype(both.dtype())?;
    let sign = f::prod(&exchanged.affine(-2.0, 1.0)?, Some(&[-1]), false, None)?;
    let determinant = sign.mul(&f::prod(&kept, Some(&[-1]), false, None)?)?;
    let slope = f::conj(&determinant)?.mul(grad)?.unsqueeze(rank - 2)?.unsqueeze(rank - 1)?;
    let identity = identity(a, n)?.broadcast_as(a.shape())?;
    f::lu_solve(&both, &pivots, &identity, true, true)?.broadcast_mul(&slope)
}

/// The largest element of each matrix times the dtype's epsilon, `[.., 1]`; of zeros, epsilon.
fn rounding_error(matrices: &Tensor) -> Result<Tensor> {
    let epsilon = if real_dtype(matrices.dtype()) == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let largest = f::amax(&matrices.abs()?, Some(&[-2, -1]), false)?;
    let scale = f::where_cond(&f::eq((&largest).into(), 0.0.into())?, 1.0.into(), (&largest).into())?;
    scale.affine(epsilon, 0.0)?.to_dtype(matrices.dtype())?.unsqueeze(largest.rank())
}

/// The operator's outputs.
#[track_caller]
pub(crate) fn determinants(a: &Tensor) -> Result<[Tensor; 2]> {
    outputs(&SLogDet, &[a])
}

/// The sign of each matrix's determinant, a number of magnitude 1, and the logarithm of its magnitude: 0 and minus infinity for a singular
/// matrix, which has no gradient.
///
/// # Errors
/// For matrices that are not square, and dtypes other than f32, f64, c64 and c128.
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
#[operator(DTypes::FACTORED, samples, SLogDet)]
pub fn slogdet(input: &Tensor) -> Result<(Tensor, Tensor)> {
    let [both, _] = determinants(input)?;
    let last = both.rank() - 1;
    Ok((both.get_on_dim(last, 0)?, f::real(&both.get_on_dim(last, 1)?)?))
}

fn samples() -> Vec<Sample> {
    let a = Array::new(&[2, 2, 2], vec![2.0, 0.5, -0.3, 1.5, 0.2, 1.0, 2.0, 0.7]);
    let reference = |x: &[Array]| {
        let a = |b: usize, r: usize, c: usize| x[0].at(&[b, r, c]);
        let determinant = Array::from_fn(&[2], |i| a(i[0], 0, 0) * a(i[0], 1, 1) - a(i[0], 0, 1) * a(i[0], 1, 0));
        let both = Array::from_fn(&[2, 2], |i| match determinant.at(&i[..1]) {
            x if i[1] == 1 => x.abs().ln(),
            0.0 => 0.0,
            x => x.signum(),
        });
        vec![both, determinant]
    };
    vec![Sample::many(SLogDet, vec![a], reference)]
}
