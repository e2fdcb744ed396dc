//! Losses: each a number, the mean over the batch.

use opforge::{Error, Result, Tensor};

use crate::ops;

fn batch_size(op: &'static str, input: &Tensor, target: &Tensor) -> Result<usize> {
    match (input.dims(), target.dims()) {
        ([n, _], [m]) if n == m => Ok(*n),
        _ => Err(Error::shapes(op, input.shape(), target.shape(), "scores [n, classes] and targets [n]")),
    }
}

/// The mean negative log likelihood of the target classes: `log_probabilities` is `[n, classes]`, `target` holds `n` class numbers.
///
/// # Errors
/// For other shapes, and classes out of range.
#[track_caller]
pub fn nll(log_probabilities: &Tensor, target: &Tensor) -> Result<Tensor> {
    let n = batch_size("nll", log_probabilities, target)?;
    log_probabilities.gather(&target.unsqueeze(1)?, 1)?.sum_all()?.affine(-1.0 / n as f64, 0.0)
}

/// The mean of `-ln(softmax(scores)[target])`: `scores` is `[n, classes]`, `target` holds `n` class numbers.
///
/// # Errors
/// As [`nll`].
#[track_caller]
pub fn cross_entropy(scores: &Tensor, target: &Tensor) -> Result<Tensor> {
    batch_size("cross_entropy", scores, target)?;
    nll(&ops::log_softmax(scores, 1)?, target)
}

/// The mean squared difference.
///
/// # Errors
/// When shapes or dtypes differ.
#[track_caller]
pub fn mse(input: &Tensor, target: &Tensor) -> Result<Tensor> {
    input.sub(target)?.sqr()?.mean_all()
}

/// The mean of `-(t ln(s) + (1 - t) ln(1 - s))` with `s = sigmoid(x)`, for targets within 0 and 1.
///
/// Computed as `x (1 - t) + m + ln(e^-m + e^(-x - m))` with the constant `m = max(-x, 0)`, in which nothing overflows.
///
/// # Errors
/// When shapes or dtypes differ.
#[track_caller]
pub fn binary_cross_entropy_with_logit(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    let m = opforge::no_grad(|| x.neg()?.relu())?;
    let softplus = m.neg()?.exp()?.add(&x.add(&m)?.neg()?.exp()?)?.log()?.add(&m)?;
    x.mul(&target.affine(-1.0, 1.0)?)?.add(&softplus)?.mean_all()
}

/// The mean of `d^2 / 2` where `d = |input - target|` is at most `delta`, else of `delta (d - delta / 2)`.
///
/// # Errors
/// When shapes or dtypes differ.
#[track_caller]
pub fn huber(input: &Tensor, target: &Tensor, delta: f64) -> Result<Tensor> {
    let difference = input.sub(target)?;
    let distance = difference.abs()?;
    let quadratic = difference.sqr()?.affine(0.5, 0.0)?;
    let linear = distance.affine(delta, -0.5 * delta * delta)?;
    distance.le(delta)?.where_cond(&quadratic, &linear)?.mean_all()
}
