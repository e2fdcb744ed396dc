//! `geqrf(A)`: the QR decomposition as reflections.

use opforge_tile::forms::Dense;

use crate::family::matrix::{batch_axes, matrices, sample};
use crate::ops::prelude::*;

/// The operator of [`geqrf`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Geqrf;

impl Operator for Geqrf {
    fn name(&self) -> &'static str {
        "geqrf"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("geqrf", inputs, 1)?;
        let (lead, m, n) = matrices("geqrf", inputs[0])?;
        let of = |last: &[usize]| Meta::contiguous(inputs[0].dtype, [lead, last].concat());
        Ok(smallvec![of(&[m, n]), of(&[m.min(n)])])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[2, 1])
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Dense(Dense::Reflections))
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// The QR decomposition of matrices `[.., m, n]` as reflections, as LAPACK gives it: `a` has `R` on and above its diagonal, and below it the vectors `v`
/// of reflections `I - tau v v^H`, whose first element that is not 0, a 1, is left out. `householder_product` makes `Q` of it. A matrix with NaN or
/// infinities has NaN for both. There is no gradient.
///
/// # Errors
/// For fewer than two dimensions, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[3f64], [4.0]], &Device::Cpu)?;
/// let (a, tau) = opforge::functional::geqrf(&x)?;
/// assert_eq!((a.to_vec2::<f64>()?, tau.to_vec1::<f64>()?), (vec![vec![-5.0], vec![0.5]], vec![1.6]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, results(a, tau))]
#[operator(DTypes::FACTORED, samples, Geqrf, gradient = false)]
pub fn geqrf(input: &Tensor) -> Result<(Tensor, Tensor)> {
    let mut outputs = dispatch(&Geqrf, &[input])?;
    let tau = outputs.pop().expect("the factors are the last output");
    Ok((outputs.pop().expect("the reflections are the first output"), tau))
}

/// Column by column (Golub and Van Loan, "Matrix Computations", algorithm 5.2.1).
fn reference(x: &Array) -> Vec<Array> {
    let [batch, m, n] = x.shape[..] else { panic!("a batch of matrices") };
    let size = m.min(n);
    let (mut a, mut tau) = (Array::from_fn(&x.shape, |i| x.at(i)), Array::from_fn(&[batch, size], |_| 0.0));
    for b in 0..batch {
        let matrix = &mut a.data[b * m * n..(b + 1) * m * n];
        if matrix.iter().any(|x| !x.is_finite()) {
            matrix.fill(f64::NAN);
            tau.data[b * size..(b + 1) * size].fill(f64::NAN);
            continue;
        }
        for j in 0..size {
            let below = (j + 1..m).map(|i| matrix[i * n + j].powi(2)).sum::<f64>();
            let alpha = matrix[j * n + j];
            if below == 0.0 {
                continue;
            }
            let norm = (alpha * alpha + below).sqrt();
            let beta = if alpha < 0.0 { norm } else { -norm };
            let factor = (beta - alpha) / beta;
            (j + 1..m).for_each(|i| matrix[i * n + j] /= alpha - beta);
            for k in j + 1..n {
                let dot: f64 = (j + 1..m).map(|i| matrix[i * n + j] * matrix[i * n + k]).sum();
                let step = factor * (matrix[j * n + k] + dot);
                matrix[j * n + k] -= step;
                (j + 1..m).for_each(|i| matrix[i * n + k] -= step * matrix[i * n + j]);
            }
            (matrix[j * n + j], tau.data[b * size + j]) = (beta, factor);
        }
    }
    vec![a, tau]
}

fn samples() -> Vec<Sample> {
    [(4, 4), (4, 2), (2, 4)]
        .map(|(m, n)| Sample::many(Geqrf, vec![sample(m, n)], |x| reference(&x[0])).full_rank().rough())
        .into()
}
