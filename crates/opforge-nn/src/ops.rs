//! Functions of networks, under candle's names. All have gradients.

use opforge::functional as f;
use opforge::{D, Dim, Error, Module, Result, Tensor};

use crate::LayerNorm;
pub use crate::dropout::Dropout;

/// `e^x / sum(e^x)` along a dimension.
///
/// # Errors
/// For dtypes that are not floats, and dimensions out of range.
#[track_caller]
pub fn softmax<T: Dim>(xs: &Tensor, dim: T) -> Result<Tensor> {
    f::softmax(xs, dim.to_index(xs.shape(), "softmax")? as i64, None)
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
