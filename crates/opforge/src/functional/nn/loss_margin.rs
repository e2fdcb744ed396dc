//! Losses that ask for a margin. `reduction` is `"none"`, `"mean"` or `"sum"`.

use super::loss::{reduced, weighted};
use crate::functional as f;
use crate::ops::prelude::*;

functions! {
    margin_ranking_loss, hinge_embedding_loss, cosine_embedding_loss, triplet_margin_loss, multi_margin_loss,
    multilabel_margin_loss, multilabel_soft_margin_loss,
}

/// `max(0, -target (input1 - input2) + margin)`: with a target of 1 the first input should be larger, with -1 the second.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let [x, y, t] = [1f32, 3.0, 1.0].map(|v| Tensor::new(&[v], &Device::Cpu).unwrap());
/// assert_eq!(f::margin_ranking_loss(&x, &y, &t, 0.5, "mean")?.to_scalar::<f32>()?, 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(margin = 0.0, *, reduction = "mean")]
#[python(torch, nn)]
pub fn margin_ranking_loss(
    input1: &Tensor,
    input2: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: &str,
) -> Result<Tensor> {
    let (a, b) = f::pair(OP, &*floating(input1)?, &*floating(input2)?)?;
    let gap = f::mul((&b.sub(&a)?).into(), target.into())?;
    let loss = gap.affine(1.0, margin)?.clamp(0.0, f64::INFINITY)?;
    reduced(OP, loss, reduction)
}

/// The input where the target is 1, `max(0, margin - input)` where it is -1.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, t) = (Tensor::new(&[0.25f32, 0.25], &Device::Cpu)?, Tensor::new(&[1f32, -1.0], &Device::Cpu)?);
/// assert_eq!(f::hinge_embedding_loss(&x, &t, 1.0, "none")?.to_vec1::<f32>()?, [0.25, 0.75]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(margin = 1.0, *, reduction = "mean")]
#[python(torch, nn)]
pub fn hinge_embedding_loss(input: &Tensor, target: &Tensor, margin: f64, reduction: &str) -> Result<Tensor> {
    let (input, target) = f::pair(OP, input, target)?;
    let zero = input.zeros_like()?;
    let far = target.ne(1.0)?.where_cond(&f::affine(&input, -1.0, margin)?.clamp(0.0, f64::INFINITY)?, &zero)?;
    let near = target.ne(-1.0)?.where_cond(&input, &zero)?;
    reduced(OP, far.add(&near)?, reduction)
}

/// `1 - cos` of the angle between rows where the target is 1, `max(0, cos - margin)` where it is -1.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, t) = (Tensor::new(&[[1f32, 0.0]], &Device::Cpu)?, Tensor::new(&[-1f32], &Device::Cpu)?);
/// assert_eq!(f::cosine_embedding_loss(&x, &x, &t, 0.25, "mean")?.to_scalar::<f32>()?, 0.75);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(margin = 0.0, *, reduction = "mean")]
#[python(torch, nn)]
pub fn cosine_embedding_loss(
    input1: &Tensor,
    input2: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: &str,
) -> Result<Tensor> {
    let cos = f::cosine_similarity(&*floating(input1)?, &*floating(input2)?, -1, 1e-8)?;
    let (cos, target) = f::pair(OP, &cos, &target.to_dtype(cos.dtype())?)?;
    let zero = cos.zeros_like()?;
    let near = target.eq(1.0)?.where_cond(&cos.affine(-1.0, 1.0)?, &zero)?;
    let far = target.eq(-1.0)?.where_cond(&cos.affine(1.0, -margin)?.clamp(0.0, f64::INFINITY)?, &zero)?;
    reduced(OP, near.add(&far)?, reduction)
}

/// `max(0, d(anchor, positive) - d(anchor, negative) + margin)`, distances being norms of order `p` along the last dimension, `eps` added to
/// the differences. With `swap` the smaller of the negative's distances to anchor and positive counts.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let [a, p, n] = [0f32, 1.0, 3.0].map(|v| Tensor::new(&[[v]], &Device::Cpu).unwrap());
/// assert_eq!(f::triplet_margin_loss(&a, &p, &n, 4.0, 2.0, 0.0, false, "mean")?.to_scalar::<f32>()?, 2.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(margin = 1.0, p = 2.0, eps = 1e-6, swap = false, *, reduction = "mean")]
#[python(torch, nn)]
pub fn triplet_margin_loss(
    anchor: &Tensor,
    positive: &Tensor,
    negative: &Tensor,
    margin: f64,
    p: f64,
    eps: f64,
    swap: bool,
    reduction: &str,
) -> Result<Tensor> {
    let distance = |a: &Tensor, b: &Tensor| f::pairwise_distance(a, b, p, eps, false);
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if swap {
        let (a, b) = f::pair(OP, &far, &distance(positive, negative)?)?;
        far = a.minimum(&b)?;
    }
    let (near, far) = f::pair(OP, &near, &far)?;
    reduced(OP, near.sub(&far)?.affine(1.0, margin)?.clamp(0.0, f64::INFINITY)?, reduction)
}

/// The mean over the other classes of `max(0, margin - x[right] + x[other])^p`, times the right class's `weight`; `input` is `[n, classes]` or
/// `[classes]`.
///
/// # Errors
/// For a power other than 1 and 2, and a class out of range.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, t) = (Tensor::new(&[[0f32, 0.5]], &Device::Cpu)?, Tensor::new(&[0i64], &Device::Cpu)?);
/// assert_eq!(f::multi_margin_loss(&x, &t, 1, 1.0, None, "mean")?.to_scalar::<f32>()?, 0.75);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 1, margin = 1.0, weight = None, *, reduction = "mean")]
#[python(nn)]
pub fn multi_margin_loss(
    input: &Tensor,
    target: &Tensor,
    p: i64,
    margin: f64,
    weight: Option<&Tensor>,
    reduction: &str,
) -> Result<Tensor> {
    let rows = f::atleast_2d(input)?;
    let (n, classes) = rows.shape().dims2()?;
    let ids = target.reshape((target.elem_count(), 1))?;
    ensure(ids.dims()[0] == n, || Error::shapes(OP, input.shape(), target.shape(), "a class for each row"))?;
    let right = f::gather(&rows, 1, &ids)?;
    let gap = f::affine(&rows.broadcast_sub(&right)?, 1.0, margin)?.clamp(0.0, f64::INFINITY)?;
    let gap = match p {
        1 => gap,
        2 => gap.sqr()?,
        other => return Err(Error::value(OP, "p", other, "1 or 2")),
    };
    let gap = match weight {
        Some(weight) => {
            gap.broadcast_mul(&weight.to_dtype(gap.dtype())?.index_select(&ids.flatten_all()?, 0)?.unsqueeze(1)?)?
        }
        None => gap,
    };
    let others = f::scatter_value(&gap, 1, &ids, Scalar::Int(0), None)?;
    let loss = f::affine(&others.sum(1)?, 1.0 / classes as f64, 0.0)?;
    reduced(OP, if input.rank() < 2 { loss.squeeze(0)? } else { loss }, reduction)
}

/// The mean over all classes of `max(0, 1 - (x[right] - x[wrong]))` for each right and each wrong class; a row of `target` lists the right
/// classes up to the first negative number.
///
/// # Errors
/// For shapes that differ, and a class out of range.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, t) = (Tensor::new(&[[0f32, 0.5]], &Device::Cpu)?, Tensor::new(&[[0i64, -1]], &Device::Cpu)?);
/// assert_eq!(f::multilabel_margin_loss(&x, &t, "mean")?.to_scalar::<f32>()?, 0.75);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, reduction = "mean")]
#[python(nn)]
pub fn multilabel_margin_loss(input: &Tensor, target: &Tensor, reduction: &str) -> Result<Tensor> {
    ensure(input.shape() == target.shape() && target.dtype().is_int(), || {
        Error::shapes(OP, input.shape(), target.shape(), "a target of integers of the input's shape")
    })?;
    let (rows, target) = (f::atleast_2d(input)?, f::atleast_2d(target)?.to_dtype(DType::I64)?);
    let classes = rows.dims()[1];
    let ended = f::cumsum(&target.lt(0i64)?.to_dtype(DType::I64)?, 1, None)?;
    let listed = ended.eq(0i64)?;
    let ids = listed.where_cond(&target, &target.zeros_like()?)?;
    let share = listed.to_dtype(rows.dtype())?;
    let is_right = f::scatter_add(&rows.detach().zeros_like()?, 1, &ids, &share)?.gt(0.0)?;
    let right = f::gather(&rows, 1, &ids)?;
    // A row, a right class, a wrong class.
    let gap = rows.unsqueeze(1)?.broadcast_sub(&right.unsqueeze(2)?)?.affine(1.0, 1.0)?.relu()?;
    let wrong = is_right.eq(0u8)?.to_dtype(rows.dtype())?;
    let counted = share.unsqueeze(2)?.broadcast_mul(&wrong.unsqueeze(1)?)?;
    let loss = f::affine(&gap.mul(&counted)?.sum((1, 2))?, 1.0 / classes as f64, 0.0)?;
    reduced(OP, if input.rank() < 2 { loss.squeeze(0)? } else { loss }, reduction)
}

/// The mean over the last dimension of the cross entropies between scores, before the sigmoid, and targets from 0 to 1.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, t) = (Tensor::new(&[[0f32, 0.0]], &Device::Cpu)?, Tensor::new(&[[0f32, 1.0]], &Device::Cpu)?);
/// assert_eq!(f::multilabel_soft_margin_loss(&x, &t, None, "mean")?.to_scalar::<f32>()?, 2f32.ln());
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, *, reduction = "mean")]
#[python(nn)]
pub fn multilabel_soft_margin_loss(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: &str,
) -> Result<Tensor> {
    let (input, target) = f::pair(OP, input, target)?;
    let last = f::existing_dim(OP, &input, -1)?;
    let (yes, no) = (f::logsigmoid(&input)?, f::logsigmoid(&input.neg()?)?);
    let loss = target.mul(&yes)?.add(&target.affine(-1.0, 1.0)?.mul(&no)?)?.neg()?;
    reduced(OP, weighted(loss, weight)?.mean(last)?, reduction)
}
