//! Functions of networks, under candle's names. All have gradients.

use opforge::functional as f;
use opforge::{D, Dim, Error, Module, Result, Tensor};

use crate::LayerNorm;
use crate::attention::{Scores, attend, causal_mask};
use crate::conv::to_i64;
pub use crate::dropout::Dropout;

/// `e^x / sum(e^x)` along a dimension.
///
/// # Errors
/// For dtypes that are not floats, and dimensions out of range.
#[track_caller]
pub fn softmax<T: Dim>(xs: &Tensor, dim: T) -> Result<Tensor> {
    f::softmax(xs, dim.to_index(xs.shape(), "softmax")? as i64, None)
}

/// Leaves its input as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identity;

impl Identity {
    /// The only one.
    pub fn new() -> Identity {
        Identity
    }
}

impl Module for Identity {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        Ok(xs.clone())
    }
}

/// As [`softmax`], along the last dimension.
///
/// # Errors
/// As [`softmax`].
#[track_caller]
pub fn softmax_last_dim(xs: &Tensor) -> Result<Tensor> {
    softmax(xs, D::Minus1)
}

/// The logarithm of [`softmax`], accurate where that would round to 0.
///
/// # Errors
/// As [`softmax`].
#[track_caller]
pub fn log_softmax<T: Dim>(xs: &Tensor, dim: T) -> Result<Tensor> {
    f::log_softmax(xs, dim.to_index(xs.shape(), "log_softmax")? as i64, None)
}

/// `1 / (1 + e^-x)`.
///
/// # Errors
/// For dtypes without the function.
#[track_caller]
pub fn sigmoid(xs: &Tensor) -> Result<Tensor> {
    xs.sigmoid()
}

/// `x sigmoid(x)`.
///
/// # Errors
/// As [`sigmoid`].
#[track_caller]
pub fn silu(xs: &Tensor) -> Result<Tensor> {
    xs.silu()
}

/// `silu(a) b` for the halves `a` and `b` of the last dimension.
///
/// # Errors
/// When the last dimension has an odd length.
#[track_caller]
pub fn swiglu(xs: &Tensor) -> Result<Tensor> {
    let n = xs.dim(D::Minus1)?;
    if n % 2 != 0 {
        return Err(Error::shape("swiglu", "xs", format!("{:?}", xs.shape()), "a last dimension of even length"));
    }
    let half = |start: usize| xs.narrow(D::Minus1, start, n / 2);
    half(0)?.silu()?.mul(&half(n / 2)?)
}

/// `(x + 3) / 6` within 0 and 1.
///
/// # Errors
/// As [`sigmoid`].
#[track_caller]
pub fn hard_sigmoid(xs: &Tensor) -> Result<Tensor> {
    xs.affine(1.0 / 6.0, 0.5)?.clamp(0f32, 1f32)
}

/// `x tanh(ln(1 + e^x))`.
///
/// # Errors
/// As [`sigmoid`].
#[track_caller]
pub fn mish(xs: &Tensor) -> Result<Tensor> {
    f::mish(xs)
}

/// `x` where positive, else `negative_slope x`.
///
/// # Errors
/// As [`sigmoid`].
#[track_caller]
pub fn leaky_relu(xs: &Tensor, negative_slope: f64) -> Result<Tensor> {
    xs.gt(0f32)?.where_cond(xs, &xs.affine(negative_slope, 0.0)?)
}

/// Each element zero with probability `drop_p`, else scaled by `1 / (1 - drop_p)`.
///
/// # Errors
/// When the probability is not within 0 and 1.
#[track_caller]
pub fn dropout(xs: &Tensor, drop_p: f32) -> Result<Tensor> {
    f::dropout(xs, drop_p.into(), true, false)
}

/// `x / sqrt(mean(x^2) + eps) * weight` over the last dimension.
///
/// # Errors
/// When the weight is not a vector of that dimension's length, or has another dtype.
#[track_caller]
pub fn rms_norm(xs: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    LayerNorm::rms_norm(weight.clone(), eps.into()).forward(xs)
}

/// `(x - mean) / sqrt(var + eps) * weight + bias` over the last dimension.
///
/// # Errors
/// As [`rms_norm`].
#[track_caller]
pub fn layer_norm(xs: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    LayerNorm::new(weight.clone(), bias.clone(), eps.into()).forward(xs)
}

/// As [`rms_norm`]: candle's name of the version with a gradient, which both have here.
///
/// # Errors
/// As [`rms_norm`].
#[track_caller]
pub fn rms_norm_slow(x: &Tensor, alpha: &Tensor, eps: f32) -> Result<Tensor> {
    rms_norm(x, alpha, eps)
}

/// As [`layer_norm`]: candle's name of the version with a gradient, which both have here.
///
/// # Errors
/// As [`rms_norm`].
#[track_caller]
pub fn layer_norm_slow(x: &Tensor, alpha: &Tensor, beta: &Tensor, eps: f32) -> Result<Tensor> {
    layer_norm(x, alpha, beta, eps)
}

/// `gamma x` where positive, else `gamma alpha (e^x - 1)`.
///
/// # Errors
/// As [`sigmoid`].
#[track_caller]
pub fn selu(xs: &Tensor, alpha: f32, gamma: f32) -> Result<Tensor> {
    xs.elu(alpha.into())?.affine(gamma.into(), 0.0)
}

/// Images `[.., channels, height, width]` with `factor` times the height and width, of that many fewer channels.
///
/// # Errors
/// For channels that are no multiple of `factor^2`.
#[track_caller]
pub fn pixel_shuffle(xs: &Tensor, upscale_factor: usize) -> Result<Tensor> {
    f::pixel_shuffle(xs, to_i64(upscale_factor))
}

/// The inverse of [`pixel_shuffle`].
///
/// # Errors
/// For sizes that are no multiples of the factor.
#[track_caller]
pub fn pixel_unshuffle(xs: &Tensor, downscale_factor: usize) -> Result<Tensor> {
    f::pixel_unshuffle(xs, to_i64(downscale_factor))
}

/// Images with `pad` more rows and columns on every side, which repeat those at the edge.
///
/// # Errors
/// For images without elements.
#[track_caller]
pub fn replication_pad2d(xs: &Tensor, pad: usize) -> Result<Tensor> {
    f::pad(xs, &[to_i64(pad); 4], "replicate", None)
}

/// Attention, `softmax(q k^T scale + mask) v`, of `q [batch, heads, length, width]`; `k` and `v` may have fewer heads, each of which serves several of q. With
/// a `softcapping` `c` other than 1, scores are `c tanh(score / c)` before the mask.
///
/// # Errors
/// For shapes that do not go together.
#[track_caller]
pub fn sdpa(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    do_causal: bool,
    scale: f32,
    softcapping: f32,
) -> Result<Tensor> {
    let causal = if do_causal && (mask.is_some() || softcapping != 1.0) {
        Some(causal_mask(q.dim(D::Minus2)?, k.dim(D::Minus2)?, q)?)
    } else {
        None
    };
    let both = match (mask, &causal) {
        (Some(mask), Some(causal)) => Some(mask.broadcast_add(causal)?),
        (mask, causal) => mask.or(causal.as_ref()).cloned(),
    };
    if softcapping == 1.0 {
        let is_causal = do_causal && both.is_none();
        return f::scaled_dot_product_attention(q, k, v, both.as_ref(), 0.0, is_causal, Some(scale.into()), true);
    }
    let how = Scores { scale: scale.into(), cap: Some(softcapping.into()), bias: both.as_ref(), causal: false };
    attend(q, k, v, &how)
}
