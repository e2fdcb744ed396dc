//! Attention of `[batch, heads, length, width]` with what may bend its scores.

use opforge::{D, Error, Result, Tensor, functional as f};

/// How scores become weights.
pub(crate) struct Scores<'a> {
    pub scale: f64,
    /// Scores are `cap tanh(score / cap)`, before the bias.
    pub cap: Option<f64>,
    /// What is added, or truth values of what is seen.
    pub bias: Option<&'a Tensor>,
    /// Query `i` sees keys up to `i`; not beside a bias.
    pub causal: bool,
}

/// Attention of `q [batch, heads, length, width]`; `k` and `v` may have fewer heads, each of which serves several of q.
#[track_caller]
pub(crate) fn attend(q: &Tensor, k: &Tensor, v: &Tensor, how: &Scores<'_>) -> Result<Tensor> {
    let Some(cap) = how.cap else {
        return f::scaled_dot_product_attention(q, k, v, how.bias, 0.0, how.causal, Some(how.scale), true);
    };
    let (k, v) = (for_heads(k, q)?, for_heads(v, q)?);
    let scores = q.matmul(&k.t()?)?.affine(how.scale / cap, 0.0)?.tanh()?.affine(cap, 0.0)?;
    let causal = if how.causal { Some(causal_mask(q.dim(D::Minus2)?, k.dim(D::Minus2)?, q)?) } else { None };
    weights(&scores, how.bias.or(causal.as_ref()))?.matmul(&v)
}

/// The softmax of scores with a bias, or of those that truth values let through; rows without any are 0.
fn weights(scores: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let scores = match bias {
        None => scores.clone(),
        Some(seen) if seen.dtype() == opforge::DType::Bool => {
            f::where_cond(seen, scores.into(), f64::NEG_INFINITY.into())?
        }
        Some(bias) => scores.broadcast_add(&bias.to_dtype(scores.dtype())?)?,
    };
    let blind = f::eq((&scores.max_keepdim(D::Minus1)?).into(), f64::NEG_INFINITY.into())?;
    let weights = f::softmax(&f::masked_fill(&scores, &blind, 0.0.into())?, -1, None)?;
    f::masked_fill(&weights, &blind, 0.0.into())
}

/// 0 where a query may look, else minus infinity: query `i` at the keys up to `i`.
pub(crate) fn causal_mask(queries: usize, keys: usize, like: &Tensor) -> Result<Tensor> {
    let row = |i: usize| (0..keys).map(move |j| if j <= i { 0f32 } else { f32::NEG_INFINITY });
    let mask = Tensor::from_iter((0..queries).flat_map(row), like.device())?;
    mask.reshape((queries, keys))?.to_dtype(like.dtype())
}

/// Heads of keys or values, each as often as queries have heads for it.
fn for_heads(x: &Tensor, q: &Tensor) -> Result<Tensor> {
    let ((batch, heads, length, width), wanted) = (x.dims4()?, q.dims4()?.1);
    if heads == 0 || !wanted.is_multiple_of(heads) {
        return Err(Error::shapes("sdpa", q.shape(), x.shape(), "heads of q that are a multiple of those of k and v"));
    }
    let wide = x.unsqueeze(2)?.broadcast_as((batch, heads, wanted / heads, length, width))?;
    wide.reshape((batch, wanted, length, width))
}
