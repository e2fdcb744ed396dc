//! `eig(A)`: eigenvalues and eigenvectors of square matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use super::solve::solved;
use crate::family::matrix::{batch_axes, identity, product, square};
use crate::functional as f;
use crate::functional::{Parts, complex_dtype};
use crate::ops::prelude::*;

/// The operator of [`eig`]: `[.., n, n]` to values, `[.., n]`, and vectors in columns, `[.., n, n]`, both complex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Eig;

/// The complex dtype of a matrix's eigenvalues.
pub(super) fn complex(op: &'static str, a: &Meta) -> Result<DType> {
    if a.dtype.is_complex() {
        Ok(a.dtype)
    } else {
        complex_dtype(a.dtype).ok_or(Error::UnsupportedDTypeForOp(a.dtype, op))
    }
}

impl Plain for Eig {
    const NAME: &'static str = "eig";
    const SAVES: Saves = Saves::OUTPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let a = inputs[0];
        square(Self::NAME, a)?;
        let dtype = complex(Self::NAME, a)?;
        Ok(smallvec![Meta::contiguous(dtype, &a.dims()[..a.rank() - 1]), Meta::contiguous(dtype, a.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1, 2])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Eig)
    }

    /// `V^-H (diag(g) + (V^H G - V^H V diag(re V^H G)) / E') V^H` with `E_ij = l_j - l_i` beside the diagonal, where the second part is 0; `H` is
    /// the conjugate transpose, `'` the conjugate (Boeddeker et al., "On the computation of complex-valued gradients", 2017, 4.77; what is
    /// subtracted keeps the vectors' length).
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (values, vectors) = (ctx.output(0)?, ctx.output(1)?);
        let (rank, adjoint) = (vectors.rank(), f::adjoint(&vectors)?);
        let mut inner = f::diag_embed(&ctx.grad(0)?, 0, -2, -1)?;
        if let Some(grad) = ctx.grad_opt(1) {
            let identity = identity(&values, values.dims()[rank - 2])?;
            let turned = adjoint.matmul(grad)?;
            let along = f::real(&f::diagonal(&turned, 0, -2, -1)?)?.unsqueeze(rank - 2)?.to_dtype(values.dtype())?;
            let stretch = adjoint.matmul(&vectors.broadcast_mul(&along)?)?;
            let apart = values.unsqueeze(rank - 2)?.broadcast_sub(&values.unsqueeze(rank - 1)?)?;
            let beside = turned.sub(&stretch)?.div(&f::conj(&apart)?.broadcast_add(&identity)?)?;
            inner = inner.add(&beside.broadcast_mul(&identity.affine(-1.0, 1.0)?)?)?;
        }
        let whole = solved(&adjoint, &inner.matmul(&adjoint)?)?;
        Ok(smallvec![Some(if ctx.input_meta(0).dtype.is_complex() { whole } else { f::real(&whole)? })])
    }
}

/// The eigenvalues of each square matrix and eigenvectors of length 1 in columns, both complex. The values come in no order, but conjugates
/// side by side; the vectors are unique up to factors of magnitude 1 if the values differ.
///
/// There is a gradient where the values differ; through the vectors only of what does not depend on those factors.
///
/// # Errors
/// For matrices that are not square, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let a = Tensor::new(&[[2f64, 1.0], [0.0, 3.0]], &Device::Cpu)?;
/// let (values, vectors) = opforge::functional::eig(&a)?;
/// assert_eq!(values.to_vec1::<Complex<f64>>()?, [2.0, 3.0].map(Complex::from));
/// assert_eq!(vectors.to_vec2::<Complex<f64>>()?[1][0], Complex::from(0.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(linalg, results(eigenvalues, eigenvectors))]
#[operator(DTypes::FACTORED, samples, Eig)]
pub fn eig(A: &Tensor) -> Result<(Tensor, Tensor)> {
    outputs(&Eig, &[A]).map(Into::into)
}

/// The sums of the values' first, second and third powers, which are traces; an eighth of them, since they cancel.
pub(super) fn power_sums(name: &'static str, values: fn(&Tensor) -> Result<Tensor>) -> Sample {
    let call = move |x: &[&Tensor]| {
        let value = Parts::of(&values(x[0])?)?;
        let square = value.mul(&value)?;
        let powers = [&value.re, &square.re, &square.mul(&value)?.re].map(|power| power.sum(1));
        let [first, second, third] = powers;
        Tensor::stack(&[first?, second?, third?], 1)?.affine(0.125, 0.0)
    };
    Sample::composed(name, call, vec![Array::spread(&[2, 3, 3], -1.0..1.0)], |x| {
        let square = product(&x[0], &x[0]);
        let powers = [x[0].clone(), square.clone(), product(&square, &x[0])];
        Array::from_fn(&[2, 3], |i| (0..3).map(|k| powers[i[1]].at(&[i[0], k, k])).sum::<f64>() / 8.0)
    })
    .finite()
    .full_rank()
}

/// The squares of the vectors' elements times the values' real parts, summed over the vectors, of matrices of two rows: one with real values, one
/// with conjugate ones.
fn weighted_squares() -> Sample {
    let call = |x: &[&Tensor]| {
        let (values, vectors) = eig(x[0])?;
        let (values, vectors) = (Parts::of(&values)?, Parts::of(&vectors)?);
        let squares = vectors.re.sqr()?.add(&vectors.im.sqr()?)?;
        squares.broadcast_mul(&values.re.unsqueeze(1)?)?.sum(2)
    };
    let matrices = Array::new(&[2, 2, 2], vec![0.7, 0.5, 0.3, -0.6, 0.4, 0.8, -0.9, -0.2]);
    Sample::composed("eig", call, vec![matrices], |x| {
        Array::from_fn(&[2, 2], |i| {
            let a = |r: usize, c: usize| x[0].at(&[i[0], r, c]);
            let (half, turn) = ((a(0, 0) + a(1, 1)) / 2.0, ((a(0, 0) - a(1, 1)) / 2.0).powi(2) + a(0, 1) * a(1, 0));
            let of = |sign: f64| {
                let (re, im) = if turn < 0.0 { (half, (-turn).sqrt()) } else { (half + sign * turn.sqrt(), 0.0) };
                // The vector is (b, value - a).
                let squares = [a(0, 1).powi(2), (re - a(0, 0)).powi(2) + im * im];
                re * squares[i[1]] / (squares[0] + squares[1])
            };
            of(1.0) + of(-1.0)
        })
    })
    .finite()
    .full_rank()
}

/// Values and vectors come in no order: what does not depend on it is compared. Single numbers are their own values.
fn samples() -> Vec<Sample> {
    let reference = |x: &[Array]| vec![Array::new(&x[0].shape[..2], x[0].data.clone()), x[0].map(|_| 1.0)];
    let numbers = Sample::many(Eig, vec![Array::spread(&[3, 1, 1], -2.0..2.0)], reference).finite().rough();
    vec![numbers, power_sums("eig", |a| Ok(eig(a)?.0)), weighted_squares()]
}
