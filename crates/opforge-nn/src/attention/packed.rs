//! Attention of sequences of several lengths, one after the other in tensors `[total, heads, width]`.

use opforge::{DType, Error, Result, Tensor};

use super::bias::Band;
use super::scores::{Scores, attend};

const OP: &str = "flash_attn_varlen";

/// Attention of each sequence of `q [total_q, heads, width]` over that of `k` and `v [total_k, kv_heads, width]`: a tensor of the shape of q.
///
/// `seqlens_q` and `seqlens_k` are the sequences' lengths. The last query stands at the last key's place; a causal one sees no keys behind its place,
/// and windows bound how many before and behind it are seen. `alibi_slopes [heads]` are what a step away costs. Queries that see nothing give 0.
///
/// # Errors
/// For shapes and lengths that do not go together, and a window to the right alone.
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn flash_attn_varlen_cpu(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: Option<&Tensor>,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    _max_seqlen_q: usize,
    _max_seqlen_k: usize,
    softmax_scale: f32,
    causal: bool,
    window_left: Option<usize>,
    window_right: Option<usize>,
) -> Result<Tensor> {
    let (total, heads, _) = q.dims3()?;
    let ((keys, ..), (values, ..)) = (k.dims3()?, v.dims3()?);
    if keys != values {
        return Err(Error::shapes(OP, k.shape(), v.shape(), "as many values as keys"));
    }
    let window = match (window_left, window_right) {
        (None, Some(right)) => return Err(Error::value(OP, "window_right", right, "none without window_left")),
        (Some(left), None) => (Some(left), Some(0)),
        both => both,
    };
    let slopes = alibi_slopes.map(|slopes| slopes_of(slopes, heads)).transpose()?;
    let lengths_q = lengths("seqlens_q", seqlens_q, total)?;
    let lengths_k = lengths("seqlens_k", seqlens_k, keys)?;
    if lengths_q.len() != lengths_k.len() {
        return Err(Error::shapes(OP, seqlens_q.shape(), seqlens_k.shape(), "as many sequences of keys as of queries"));
    }
    let (mut results, mut at_q, mut at_k) = (Vec::new(), 0, 0);
    for (queries, keys) in lengths_q.into_iter().zip(lengths_k) {
        let sequence = |x: &Tensor, start, len| x.narrow(0, start, len)?.transpose(0, 1)?.unsqueeze(0);
        let (q, k, v) = (sequence(q, at_q, queries)?, sequence(k, at_k, keys)?, sequence(v, at_k, keys)?);
        let band = Band { queries, keys, offset: keys as isize - queries as isize, causal, window };
        let plain = slopes.is_none() && band.is_plainly_causal();
        let bias = if plain { None } else { band.bias(slopes.as_deref())? };
        let how = Scores { scale: softmax_scale.into(), cap: None, bias: bias.as_ref(), causal: plain };
        results.push(attend(&q, &k, &v, &how)?.squeeze(0)?.transpose(0, 1)?);
        (at_q, at_k) = (at_q + queries, at_k + keys);
    }
    if results.is_empty() { q.zeros_like() } else { Tensor::cat(&results, 0)?.contiguous() }
}

/// As [`flash_attn_varlen_cpu`], for causal sequences that have at least as many keys as queries.
///
/// # Errors
/// As [`flash_attn_varlen_cpu`]; fewer keys than queries of a causal sequence.
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn flash_attn_varlen_unfused(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: Option<&Tensor>,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    max_seqlen_q: usize,
    max_seqlen_k: usize,
    softmax_scale: f32,
    causal: bool,
    window_size_left: Option<usize>,
    window_size_right: Option<usize>,
) -> Result<Tensor> {
    let lengths = (lengths("seqlens_q", seqlens_q, q.dim(0)?)?, lengths("seqlens_k", seqlens_k, k.dim(0)?)?);
    if causal && lengths.0.iter().zip(&lengths.1).any(|(queries, keys)| keys < queries) {
        let given = format!("{:?}", lengths.1);
        return Err(Error::value(OP, "seqlens_k", given, format!("at least {:?}, for causal sequences", lengths.0)));
    }
    flash_attn_varlen_cpu(
        q,
        k,
        v,
        alibi_slopes,
        seqlens_q,
        seqlens_k,
        max_seqlen_q,
        max_seqlen_k,
        softmax_scale,
        causal,
        window_size_left,
        window_size_right,
    )
}

/// The lengths of sequences that make up `total` rows.
fn lengths(argument: &'static str, given: &Tensor, total: usize) -> Result<Vec<usize>> {
    if !given.dtype().is_int() {
        return Err(Error::dtype(OP, argument, given.dtype(), "integers"));
    }
    let lengths = given.to_dtype(DType::I64)?.to_vec1::<i64>()?;
    let sum = lengths.iter().try_fold(0usize, |sum, &len| sum.checked_add(usize::try_from(len).ok()?));
    if sum != Some(total) {
        return Err(Error::value(OP, argument, format!("{lengths:?}"), format!("lengths whose sum is {total}")));
    }
    Ok(lengths.into_iter().map(|len| len as usize).collect())
}

fn slopes_of(slopes: &Tensor, heads: usize) -> Result<Vec<f32>> {
    if slopes.dims() != [heads] {
        return Err(Error::shape(OP, "alibi_slopes", format!("{:?}", slopes.shape()), format!("[{heads}]")));
    }
    slopes.to_dtype(DType::F32)?.to_vec1()
}
