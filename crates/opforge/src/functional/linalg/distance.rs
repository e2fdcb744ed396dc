//! Norms, and distances and angles between vectors.

use crate::family::matrix::real_dtype;
use crate::functional as f;

use crate::ops::prelude::*;

functions! { normalize, cosine_similarity, pairwise_distance }

/// Vectors along `dim` divided by their norm of order `p`, or by `eps` if that is larger.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[3f32, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::normalize(&x, 2.0, 1, 1e-12)?.to_vec2::<f32>()?, [[0.6, 0.8]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 2.0, dim = 1, eps = 1e-12)]
#[python(nn)]
pub fn normalize(input: &Tensor, p: f64, dim: i64, eps: f64) -> Result<Tensor> {
    if input.rank() == 0 {
        return f::with_dimension(input, |x| normalize(x, p, dim, eps));
    }
    let dim = f::existing_dim(OP, input, dim)?;
    let norm = p_norm(input, p, dim, true)?;
    f::div(input.into(), (&f::clamp(&norm, Some(eps.into()), None)?).into(), None)
}

/// The cosine of the angle between vectors along `dim`; norms are at least `eps`. Inputs are broadcast.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[[1f32, 0.0]], &Device::Cpu)?, Tensor::new(&[[0f32, 2.0]], &Device::Cpu)?);
/// assert_eq!(f::cosine_similarity(&x, &y, 1, 1e-8)?.to_vec1::<f32>()?, [0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 1, eps = 1e-8)]
#[python(torch, nn)]
pub fn cosine_similarity(x1: &Tensor, x2: &Tensor, dim: i64, eps: f64) -> Result<Tensor> {
    let (x1, x2) = f::pair(OP, x1, x2)?;
    if x1.rank() == 0 {
        return cosine_similarity(&x1.reshape(1)?, &x2.reshape(1)?, dim, eps);
    }
    let dim = f::existing_dim(OP, &x1, dim)?;
    let unit = |x: &Tensor| x.broadcast_div(&f::clamp(&p_norm(x, 2.0, dim, true)?, Some(eps.into()), None)?);
    unit(&x1)?.mul(&unit(&x2)?)?.sum(dim)
}

/// The norm of order `p` of `x1 - x2 + eps` along the last dimension. Inputs are broadcast.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[[3f32, 0.0]], &Device::Cpu)?, Tensor::new(&[[0f32, 4.0]], &Device::Cpu)?);
/// assert_eq!(f::pairwise_distance(&x, &y, 2.0, 0.0, false)?.to_vec1::<f32>()?, [5.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 2.0, eps = 1e-6, keepdim = false)]
#[python(torch, nn)]
pub fn pairwise_distance(x1: &Tensor, x2: &Tensor, p: f64, eps: f64, keepdim: bool) -> Result<Tensor> {
    let (x1, x2) = f::pair(OP, x1, x2)?;
    if x1.rank() == 0 {
        return pairwise_distance(&x1.reshape(1)?, &x2.reshape(1)?, p, eps, false);
    }
    let last = f::existing_dim(OP, &x1, -1)?;
    let difference = f::sub((&x1).into(), (&x2).into(), Scalar::Int(1))?;
    p_norm(&f::add((&difference).into(), eps.into(), Scalar::Int(1))?, p, last, keepdim)
}

/// The norm of order `p` along a dimension; its gradient at 0 is 0.
#[track_caller]
pub(crate) fn p_norm(x: &Tensor, p: f64, dim: usize, keepdim: bool) -> Result<Tensor> {
    normalize_dim(dim as i64, x.rank(), "norm")?;
    if p.is_nan() {
        return Err(Error::value("norm", "p", p, "a number"));
    }
    let dims = [dim as i64];
    let sum = |t: &Tensor| f::sum(t, Some(&dims), keepdim, None);
    match p {
        0.0 => f::constant_in(sum(&x.ne(0.0)?.to_dtype(real_dtype(x.dtype()))?)?, &[x]),
        1.0 => sum(&x.abs()?),
        f64::INFINITY => f::amax(&x.abs()?, Some(&dims), keepdim),
        f64::NEG_INFINITY => f::amin(&x.abs()?, Some(&dims), keepdim),
        _ if p < 0.0 => f::vector_norm(x, p, Some(&dims), keepdim, None),
        2.0 => f::norm2(&*f::floating(x)?, Some(&dims), keepdim),
        p => away_from_zero(&sum(&away_from_zero(&x.abs()?, |t| t.powf(p))?)?, |t| t.powf(1.0 / p)),
    }
}

/// `f` of the elements that are not 0, and 0 of the others: for functions whose derivative at 0 is infinite.
#[track_caller]
pub(crate) fn away_from_zero(t: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let zero = t.eq(0.0)?;
    let safe = zero.where_cond(&t.ones_like()?, t)?;
    zero.where_cond(&t.zeros_like()?, &f(&safe)?)
}
