//! Norms, and distances and angles between vectors.

use crate::family::matrix::real_dtype;
use crate::functional as f;

use crate::ops::prelude::*;

functions! { normalize, cosine_similarity, pairwise_distance, cdist, pdist }

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

/// The distances, norms of order `p`, between all rows of `x1` (`[.., n, width]`) and of `x2` (`[.., m, width]`): `[.., n, m]`. Leading
/// dimensions are broadcast.
///
/// Of order 2 they can be made of a matrix product: faster, but distances much smaller than the rows' norms lose digits. f16 and bf16 are widened.
/// That is done as `compute_mode` says: `"use_mm_for_euclid_dist"`, `"donot_use_mm_for_euclid_dist"`, or, the default,
/// `"use_mm_for_euclid_dist_if_necessary"`, when `n` or `m` is above 25.
///
/// # Errors
/// For shapes that do not go together, and another mode.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[[3f32, 0.0]], &Device::Cpu)?, Tensor::new(&[[0f32, 4.0], [3.0, 1.0]], &Device::Cpu)?);
/// assert_eq!(f::cdist(&x, &y, 2.0, None)?.to_vec2::<f32>()?, [[5.0, 1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 2.0, compute_mode = None)]
#[python(torch)]
pub fn cdist(x1: &Tensor, x2: &Tensor, p: f64, compute_mode: Option<&str>) -> Result<Tensor> {
    let matrices = x1.rank() >= 2 && x2.rank() >= 2 && x1.dims().last() == x2.dims().last();
    if !matrices || x1.dtype() != x2.dtype() {
        return Err(Error::shapes(OP, x1.shape(), x2.shape(), "[.., n, width] and [.., m, width] of one dtype"));
    }
    if by_product(x1, x2, compute_mode)? && p == 2.0 {
        match x1.dtype() {
            DType::F32 | DType::F64 => return euclidean(x1, x2),
            half @ (DType::F16 | DType::BF16) => {
                return euclidean(&x1.to_dtype(DType::F32)?, &x2.to_dtype(DType::F32)?)?.to_dtype(half);
            }
            _ => {}
        }
    }
    let (a, b) = (x1.unsqueeze(x1.rank() - 1)?, x2.unsqueeze(x2.rank() - 2)?);
    let differences = a.broadcast_sub(&b)?;
    p_norm(&differences, p, differences.rank() - 1, false)
}

/// The distances, norms of order `p`, between all pairs of different rows of a matrix.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[3f32, 0.0], [0.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::pdist(&x, 2.0)?.to_vec1::<f32>()?, [5.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 2.0)]
#[python(torch, nn)]
pub fn pdist(input: &Tensor, p: f64) -> Result<Tensor> {
    let (n, _) = input.shape().dims2()?;
    // Twice as many distances as are wanted take less time than copies of both rows of each pair.
    let all = cdist(input, input, p, Some("donot_use_mm_for_euclid_dist"))?.flatten_all()?;
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i * n + j) as i64));
    all.index_select(&Tensor::from_iter(pairs, input.device())?, 0)
}

/// Whether `cdist` makes Euclidean distances of a matrix product.
fn by_product(x1: &Tensor, x2: &Tensor, mode: Option<&str>) -> Result<bool> {
    let many = |x: &Tensor| x.dims()[x.rank() - 2] > 25;
    match mode.unwrap_or("use_mm_for_euclid_dist_if_necessary") {
        "use_mm_for_euclid_dist_if_necessary" => Ok(many(x1) || many(x2)),
        "use_mm_for_euclid_dist" => Ok(true),
        "donot_use_mm_for_euclid_dist" => Ok(false),
        other => {
            let accepted = "\"use_mm_for_euclid_dist_if_necessary\", \"use_mm_for_euclid_dist\" or \"donot_use_mm_for_euclid_dist\"";
            Err(Error::value("cdist", "compute_mode", other, accepted))
        }
    }
}

/// The root of `|x|^2 + |y|^2 - 2 x y^T`, all of it one product of wider rows.
#[track_caller]
fn euclidean(x1: &Tensor, x2: &Tensor) -> Result<Tensor> {
    let row = |x: &Tensor| -> Result<[Tensor; 2]> {
        let square = x.sqr()?.sum_keepdim(x.rank() - 1)?;
        Ok([square.ones_like()?, square])
    };
    let ([one1, square1], [one2, square2]) = (row(x1)?, row(x2)?);
    let left = Tensor::cat(&[&x1.affine(-2.0, 0.0)?, &square1, &one1], x1.rank() - 1)?;
    let right = Tensor::cat(&[x2, &one2, &square2], x2.rank() - 1)?;
    let squares = f::matmul(&left, &right.t()?)?.relu()?;
    if is_grad_enabled() && squares.requires_grad() { away_from_zero(&squares, Tensor::sqrt) } else { squares.sqrt() }
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
fn away_from_zero(t: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let zero = t.eq(0.0)?;
    let safe = zero.where_cond(&t.ones_like()?, t)?;
    zero.where_cond(&t.zeros_like()?, &f(&safe)?)
}
