//! Attention of sequences of one length: `q [batch, length, heads, width]`, results `[batch, heads, length, width]`.

use opforge::{DType, Device, Element, Error, Result, Tensor, WithDType};

use super::AttnMask;
use super::bias::{Band, slopes};
use super::scores::{Scores, attend};

/// Attention of `q [batch, length, heads, width]` over `k` and `v [batch, keys, kv_heads, width]`, whose heads each serve several of q: a tensor
/// `[batch, heads, length, width]`.
///
/// With a `max_bias`, heads have the slopes of ALiBi: a causal mask costs each step away from a query's place as much, and values of a mask are
/// multiplied by them. With a `softcap` `c`, scores are `c tanh(score / c)`, before masks.
///
/// # Errors
/// For another dtype than `T`, shapes that do not go together, and a bias that is not at least 0.
#[track_caller]
pub fn flash_attn<T: WithDType>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    softmax_scale: f32,
    attn_mask: AttnMask,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor> {
    let (expected, got) = (<T as Element>::DTYPE, q.dtype());
    if got != expected {
        return Err(Error::UnexpectedDType { msg: "dtype of q in flash_attn", expected, got }.bt());
    }
    let (_, queries, heads, _) = q.dims4()?;
    let keys = k.dims4()?.1;
    let slopes = max_bias.filter(|&most| most != 0.0).map(|most| slopes(most, heads)).transpose()?;
    let mut how = Scores {
        scale: softmax_scale.into(),
        cap: softcap.filter(|&cap| cap != 0.0).map(f64::from),
        bias: None,
        causal: false,
    };
    let bias = match &attn_mask {
        AttnMask::None => None,
        AttnMask::Mask(mask) => Some(sloped(mask, slopes.as_deref())?),
        AttnMask::Causal { kv_offset } => {
            let band = Band { queries, keys, offset: *kv_offset as isize, causal: true, window: (None, None) };
            how.causal = slopes.is_none() && band.is_plainly_causal();
            if how.causal { None } else { band.bias(slopes.as_deref())? }
        }
    };
    let bias = bias.map(|bias| bias.to_device(q.device())).transpose()?;
    how.bias = bias.as_ref();
    attend(&q.transpose(1, 2)?, &k.transpose(1, 2)?, &v.transpose(1, 2)?, &how)
}

/// A mask whose values heads multiply by their slopes.
fn sloped(mask: &Tensor, slopes: Option<&[f32]>) -> Result<Tensor> {
    match slopes {
        Some(slopes) if mask.dtype() != DType::Bool => {
            let slopes = Tensor::from_slice(slopes, (slopes.len(), 1, 1), mask.device())?;
            mask.broadcast_mul(&slopes.to_dtype(mask.dtype())?)
        }
        _ => Ok(mask.clone()),
    }
}

/// [`flash_attn`] with a mask, or without.
///
/// # Errors
/// As [`flash_attn`].
#[track_caller]
pub fn run_flash_attn_cpu<T: WithDType>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    softmax_scale: f32,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor> {
    let mask = mask.map_or(AttnMask::None, |mask| AttnMask::Mask(mask.clone()));
    flash_attn::<T>(q, k, v, softmax_scale, mask, max_bias, softcap)
}

/// [`flash_attn`] that hides later keys.
///
/// # Errors
/// As [`flash_attn`].
#[track_caller]
pub fn run_causal_attn_cpu<T: WithDType>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    softmax_scale: f32,
    kv_offset: usize,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor> {
    flash_attn::<T>(q, k, v, softmax_scale, AttnMask::causal_with_offset(kv_offset), max_bias, softcap)
}

/// Attention of one query `[heads, width]` over keys and values `[keys, kv_heads, 2 width]`, each key before its value, as
/// [`InterleavedKvCache`](crate::kv_cache::InterleavedKvCache) holds them: a tensor `[heads, 1, width]`.
///
/// # Errors
/// For slices of other lengths.
#[track_caller]
pub fn causal_decode_f32_interleaved(
    q_data: &[f32],
    kv_data: &[f32],
    h_q: usize,
    h_kv: usize,
    d: usize,
    kv_len: usize,
    scale: f32,
) -> Result<Tensor> {
    let q = Tensor::from_slice(q_data, (1, h_q, 1, d), &Device::Cpu)?;
    let kv = Tensor::from_slice(kv_data, (1, kv_len, h_kv, 2 * d), &Device::Cpu)?.transpose(1, 2)?;
    let (k, v) = (kv.narrow(3, 0, d)?, kv.narrow(3, d, d)?);
    attend(&q, &k, &v, &Scores { scale: scale.into(), cap: None, bias: None, causal: false })?.squeeze(0)
}
