//! Dropout of whole channels, and dropout that keeps mean and variance.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { dropout1d, dropout2d, dropout3d, feature_dropout, alpha_dropout, feature_alpha_dropout }

/// Whole channels, `[channels, length]` or `[n, channels, length]`, replaced by 0 with probability `p`, the others divided by `1 - p`.
#[function(p = 0.5, training = true, inplace = false)]
#[python(nn)]
#[view]
pub fn dropout1d(input: &Tensor, p: f64, training: bool, inplace: bool) -> Result<Tensor> {
    drop_channels(OP, input, p, training, inplace, input.rank() == 2)
}

/// Whole channels, `[n, channels, height, width]`, replaced by 0 with probability `p`, the others divided by `1 - p`.
#[function(p = 0.5, training = true, inplace = false)]
#[python(nn)]
#[view]
pub fn dropout2d(input: &Tensor, p: f64, training: bool, inplace: bool) -> Result<Tensor> {
    drop_channels(OP, input, p, training, inplace, false)
}

/// Whole channels, `[channels, ..]` with three more dimensions or with `n` before, replaced by 0 with probability `p`, the others divided by
/// `1 - p`.
#[function(p = 0.5, training = true, inplace = false)]
#[python(nn)]
#[view]
pub fn dropout3d(input: &Tensor, p: f64, training: bool, inplace: bool) -> Result<Tensor> {
    drop_channels(OP, input, p, training, inplace, input.rank() == 4)
}

/// Whole channels, `[n, channels, ..]`, replaced by 0 with probability `p`, the others divided by `1 - p`.
#[function]
#[python(torch)]
#[view]
pub fn feature_dropout(input: &Tensor, p: f64, train: bool) -> Result<Tensor> {
    drop_channels(OP, input, p, train, false, false)
}

/// Dropout for networks of SELU: elements are replaced by SELU's lower bound with probability `p`, and all are scaled and shifted so that mean
/// 0 and variance 1 stay.
#[function(p = 0.5, training = false, inplace = false)]
#[python(torch, nn)]
#[view]
pub fn alpha_dropout(input: &Tensor, p: f64, training: bool, inplace: bool) -> Result<Tensor> {
    let out = drop_alpha(OP, input, p, training, false)?;
    if inplace { replaced(OP, input, out) } else { Ok(out) }
}

/// [`alpha_dropout`] of whole channels, `[n, channels, ..]`.
#[function(p = 0.5, training = false, inplace = false)]
#[python(torch, nn)]
#[view]
pub fn feature_alpha_dropout(input: &Tensor, p: f64, training: bool, inplace: bool) -> Result<Tensor> {
    let out = drop_alpha(OP, input, p, training, true)?;
    if inplace { replaced(OP, input, out) } else { Ok(out) }
}

/// The tensor, changed in place to a result.
#[track_caller]
pub(crate) fn replaced(op: &'static str, input: &Tensor, result: Tensor) -> Result<Tensor> {
    f::write_back(op, input, &result)?;
    Ok(input.clone())
}

/// Whether there is anything to drop: not outside of training, where the input may be of any dtype.
pub(crate) fn drops(op: &'static str, input: &Tensor, p: f64, training: bool) -> Result<bool> {
    ensure((0.0..=1.0).contains(&p), || Error::value(op, "p", p, "a probability from 0 to 1"))?;
    if training {
        check_float(op, "input", input)?;
    }
    Ok(training && p > 0.0)
}

/// Ones, and zeros with probability `p`: one for each element, or for each channel of a batch.
#[track_caller]
fn kept(op: &'static str, input: &Tensor, p: f64, channels: bool) -> Result<Tensor> {
    let mut shape = input.shape().clone().into_dims();
    if channels {
        ensure(shape.len() >= 2, || wrong_shape(op, "input", input.shape(), "[n, channels, ..]"))?;
        shape[2..].fill(1);
    }
    let like = Tensor::full_scalar(Scalar::Int(0), (), input.dtype(), input.device())?.broadcast_as(shape)?;
    crate::ops::random::bernoulli::mask(1.0 - p, &like, None)
}

#[track_caller]
fn drop_channels(
    op: &'static str,
    input: &Tensor,
    p: f64,
    training: bool,
    inplace: bool,
    unbatched: bool,
) -> Result<Tensor> {
    if !drops(op, input, p, training)? {
        return Ok(input.clone());
    }
    let batch = if unbatched { input.unsqueeze(0)? } else { input.clone() };
    let factor = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    let out = batch.broadcast_mul(&kept(op, &batch, p, true)?.affine(factor, 0.0)?)?;
    let out = if unbatched { out.squeeze(0)? } else { out };
    if inplace { replaced(op, input, out) } else { Ok(out) }
}

/// Source: Klambauer et al., "Self-Normalizing Neural Networks" (2017), section 3.
#[track_caller]
fn drop_alpha(op: &'static str, input: &Tensor, p: f64, training: bool, channels: bool) -> Result<Tensor> {
    /// SELU's lower bound: -scale alpha.
    const LOW: f64 = -1.758_099_340_847_376_6;
    if !drops(op, input, p, training)? {
        return Ok(input.clone());
    }
    if p == 1.0 {
        return input.affine(0.0, 0.0);
    }
    let a = 1.0 / ((1.0 - p) * (1.0 + p * LOW * LOW)).sqrt();
    let kept = kept(op, input, p, channels)?;
    // a (x kept + LOW (1 - kept)) - a p LOW
    input.broadcast_mul(&kept.affine(a, 0.0)?)?.broadcast_add(&kept.affine(-a * LOW, a * LOW * (1.0 - p))?)
}
