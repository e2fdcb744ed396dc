//! Products of many matrices.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { matrix_power, multi_dot, chain_matmul }

/// A square matrix, or each of a batch, to a whole power: multiplied with itself `n` times, its inverse for a
/// negative power.
///
/// # Errors
/// For matrices that are not square, and negative powers of those that have no inverse.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 1.0], [0.0, 1.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::matrix_power(&x, 5)?.to_vec2::<f32>()?, [[1.0, 5.0], [0.0, 1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, linalg)]
pub fn matrix_power(input: &Tensor, n: i64) -> Result<Tensor> {
    let [.., rows, columns] = input.dims()[..] else {
        return Err(wrong_shape(OP, "input", input.shape(), "square matrices"));
    };
    ensure(rows == columns, || wrong_shape(OP, "input", input.shape(), "square matrices"))?;
    if n < 0 {
        let power = n.checked_neg().ok_or_else(|| Error::value(OP, "n", n, "above -2^63"))?;
        return matrix_power(&f::inverse(input)?, power);
    }
    let mut power = None;
    let (mut square, mut rest) = (input.clone(), n);
    while rest > 0 {
        if rest % 2 == 1 {
            power = Some(match power {
                None => square.clone(),
                Some(power) => f::matmul(&power, &square)?,
            });
        }
        rest /= 2;
        if rest > 0 {
            square = f::matmul(&square, &square)?;
        }
    }
    match power {
        Some(power) => f::apart(power, input),
        None => {
            let one = Tensor::eye(rows, input.dtype(), input.device())?.broadcast_as(input.shape())?.contiguous()?;
            f::constant_in(one, &[input])
        }
    }
}

/// The product of several matrices in the order that takes the fewest multiplications; the first and the last may be vectors.
///
/// # Errors
/// For fewer than two, and shapes that do not go together.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let shapes = [(10, 100), (100, 5), (5, 50)];
/// let chain = shapes.map(|shape| Tensor::ones(shape, DType::F32, &Device::Cpu).unwrap());
/// assert_eq!(opforge::functional::multi_dot(&chain)?.dims(), [10, 50]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(linalg)]
pub fn multi_dot(tensors: &[Tensor]) -> Result<Tensor> {
    let [first, .., last] = tensors else {
        return Err(Error::value(OP, "tensors", tensors.len(), "at least two"));
    };
    let mut chain = tensors.to_vec();
    if first.rank() == 1 {
        chain[0] = first.unsqueeze(0)?;
    }
    if last.rank() == 1 {
        chain[tensors.len() - 1] = last.unsqueeze(1)?;
    }
    if let Some(other) = chain.iter().find(|t| t.rank() != 2) {
        return Err(wrong_shape(OP, "tensors", other.shape(), "matrices; vectors at the ends"));
    }
    if let Some(pair) = chain.windows(2).find(|pair| pair[0].dims()[1] != pair[1].dims()[0]) {
        return Err(Error::shapes(OP, pair[0].shape(), pair[1].shape(), "[m, k] and [k, n]"));
    }
    let product = in_best_order(&chain)?;
    let (rows, columns) = (product.dims()[0], product.dims()[1]);
    match (first.rank(), last.rank()) {
        (1, 1) => product.reshape(()),
        (1, _) => product.reshape(columns),
        (_, 1) => product.reshape(rows),
        _ => Ok(product),
    }
}

/// As [`multi_dot`].
///
/// # Errors
/// As [`multi_dot`].
#[function]
#[python(torch)]
pub fn chain_matmul(matrices: &[Tensor]) -> Result<Tensor> {
    if matrices.len() == 1 { matrices[0].copy() } else { multi_dot(matrices) }
}

/// By dynamic programming over where the last product splits the chain (Cormen and others, "Introduction to Algorithms", 15.2).
#[track_caller]
fn in_best_order(chain: &[Tensor]) -> Result<Tensor> {
    let n = chain.len();
    let size = |i: usize| if i < n { chain[i].dims()[0] } else { chain[n - 1].dims()[1] } as f64;
    let (mut cost, mut cut) = (vec![vec![0.0; n]; n], vec![vec![0; n]; n]);
    for len in 1..n {
        for i in 0..n - len {
            let j = i + len;
            let through = |k: usize| cost[i][k] + cost[k + 1][j] + size(i) * size(k + 1) * size(j + 1);
            let best = (i..j).fold(i, |best, k| if through(k) < through(best) { k } else { best });
            (cost[i][j], cut[i][j]) = (through(best), best);
        }
    }
    fn product(chain: &[Tensor], cut: &[Vec<usize>], i: usize, j: usize) -> Result<Tensor> {
        if i == j {
            return Ok(chain[i].clone());
        }
        let k = cut[i][j];
        f::matmul(&product(chain, cut, i, k)?, &product(chain, cut, k + 1, j)?)
    }
    product(chain, &cut, 0, n - 1)
}
