//! `matrix_exp(A)`: the matrix exponential.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use crate::family::matrix::{batch_axes, square};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`matrix_exp`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct MatrixExp;

impl Plain for MatrixExp {
    const NAME: &'static str = "matrix_exp";
    const SAVES: Saves = Saves::INPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        square(Self::NAME, inputs[0])?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[2])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Exp)
    }

    /// The derivative in a direction is a block of `exp([A^H, G; 0, A^H])` (Mathias, "A chain rule for matrix functions", 1996).
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (a, grad) = (f::adjoint(&ctx.input(0)?)?, ctx.grad(0)?);
        let (n, row) = (a.dims()[a.rank() - 1], a.rank() - 2);
        let above = Tensor::cat(&[&a, &grad], row + 1)?;
        let below = Tensor::cat(&[&a.zeros_like()?, &a], row + 1)?;
        let whole = dispatch1(&MatrixExp, &[&Tensor::cat(&[&above, &below], row)?])?;
        Ok(smallvec![Some(whole.narrow(row, 0, n)?.narrow(row + 1, n, n)?)])
    }
}

/// The exponential of each square matrix, `I + A + A^2 / 2 + A^3 / 6 + ..`; NaN of one with NaN or infinities. Of f16 and bf16 it is computed in f32.
///
/// # Errors
/// For matrices that are not square, and integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[0f64, 3.0], [0.0, 0.0]], &Device::Cpu)?;
/// let exp = opforge::functional::matrix_exp(&a)?.to_vec2::<f64>()?;
/// assert!((exp[0][0] - 1.0).abs() < 1e-12 && (exp[0][1] - 3.0).abs() < 1e-12);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, linalg)]
#[operator(DTypes::FACTORED, samples, MatrixExp)]
pub fn matrix_exp(input: &Tensor) -> Result<Tensor> {
    let dtype = input.dtype().compute();
    dispatch1(&MatrixExp, &[&input.to_dtype(dtype)?])?.to_dtype(input.dtype())
}

/// By the series; NaN is everywhere in the result of a matrix that has NaN or infinities.
fn samples() -> Vec<Sample> {
    let series = |x: &[Array]| {
        let n = x[0].shape[1];
        let one = |a: &[f64]| -> Vec<f64> {
            if a.iter().any(|x| !x.is_finite()) {
                return vec![f64::NAN; n * n];
            }
            let mut term: Vec<f64> = (0..n * n).map(|x| f64::from(x % (n + 1) == 0)).collect();
            let mut sum = term.clone();
            for k in 1..40 {
                let at = |x: usize| (0..n).map(|l| term[x / n * n + l] * a[l * n + x % n]).sum::<f64>() / f64::from(k);
                term = (0..n * n).map(at).collect();
                sum.iter_mut().zip(&term).for_each(|(sum, x)| *sum += x);
            }
            sum
        };
        Array::new(&x[0].shape, x[0].data.chunks(n * n).flat_map(one).collect())
    };
    let of = |n: usize, size: f64| Sample::new(MatrixExp, vec![Array::spread(&[2, n, n], -size..size)], series);
    vec![of(2, 1.0), of(3, 0.4)]
}
