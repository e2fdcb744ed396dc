//! Losses, element by element. `reduction` is `"none"`, `"mean"` or `"sum"`.

use crate::functional as f;
use std::f64::consts::PI;

use crate::ops::nn::cross_entropy::{Reduce, class_dim, class_loss};
use crate::ops::pointwise::huber_loss::Huber;
use crate::ops::prelude::*;

functions! {
    nll_loss, mse_loss, l1_loss, smooth_l1_loss, binary_cross_entropy_with_logits,
    kl_div, poisson_nll_loss, gaussian_nll_loss, soft_margin_loss,
}

/// The negative of each right class's entry in `input`, logarithms of probabilities: `[n, classes, ..]` or `[classes]`; `target` holds
/// integers, `[n, ..]`. `weight` (`[classes]`) scales each class; elements of class `ignore_index` count for nothing. The mean is weighted.
///
/// # Errors
/// For shapes that do not go together, and a class out of range.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[[-1f32, -2.0]], &Device::Cpu)?, Tensor::new(&[1i64], &Device::Cpu)?);
/// assert_eq!(f::nll_loss(&x, &y, None, -100, "mean")?.to_scalar::<f32>()?, 2.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, *, ignore_index = -100, reduction = "mean")]
#[python(nn)]
pub fn nll_loss(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    ignore_index: i64,
    reduction: &str,
) -> Result<Tensor> {
    let reduce = Reduce::named(OP, reduction)?;
    check_float(OP, "input", input)?;
    let dim = class_dim(OP, input, target)?;
    let picked = |index: &Tensor| f::gather(input, dim as i64, index);
    class_loss(input, picked, target, weight, dim, ignore_index, reduce, 0.0)
}

/// The squared differences. Inputs are broadcast and promoted; `weight` scales each element.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[1f32, 4.0], &Device::Cpu)?, Tensor::new(&[2f32, 2.0], &Device::Cpu)?);
/// assert_eq!(f::mse_loss(&x, &y, "mean", None)?.to_scalar::<f32>()?, 2.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, reduction = "mean", weight = None)]
#[python(nn)]
pub fn mse_loss(input: &Tensor, target: &Tensor, reduction: &str, weight: Option<&Tensor>) -> Result<Tensor> {
    let difference = difference(OP, input, target)?;
    if reduction == "mean" && weight.is_none() && difference.dtype().is_float() {
        return f::mean_square(&difference, None, false);
    }
    weighted_mean(OP, difference.sqr()?, weight, reduction)
}

/// The absolute differences.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[1f32, 4.0], &Device::Cpu)?, Tensor::new(&[2f32, 2.0], &Device::Cpu)?);
/// assert_eq!(f::l1_loss(&x, &y, "sum", None)?.to_scalar::<f32>()?, 3.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, reduction = "mean", weight = None)]
#[python(nn)]
pub fn l1_loss(input: &Tensor, target: &Tensor, reduction: &str, weight: Option<&Tensor>) -> Result<Tensor> {
    let loss = difference(OP, input, target)?.abs()?;
    weighted_mean(OP, loss, weight, reduction)
}

/// The square of a difference below `beta`, over `2 beta`; above it the absolute difference less `beta / 2`.
///
/// # Errors
/// For a negative `beta`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[1f32, 4.0], &Device::Cpu)?, Tensor::new(&[2f32, 2.0], &Device::Cpu)?);
/// assert_eq!(f::smooth_l1_loss(&x, &y, "none", 1.0)?.to_vec1::<f32>()?, [0.5, 1.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, reduction = "mean", beta = 1.0)]
#[python(nn)]
pub fn smooth_l1_loss(input: &Tensor, target: &Tensor, reduction: &str, beta: f64) -> Result<Tensor> {
    if beta < 0.0 || beta.is_nan() {
        return Err(Error::value(OP, "beta", beta, "0 or more"));
    }
    if beta == 0.0 {
        return reduced(OP, difference(OP, input, target)?.abs()?, reduction);
    }
    of_differences(OP, Huber { delta: beta.into(), scale: (1.0 / beta).into() }, [input, target], None, reduction)
}

/// The cross entropy between scores, before the sigmoid, and targets from 0 to 1, accurate for all scores. `pos_weight` scales the share
/// of the ones.
///
/// # Errors
/// For shapes that differ.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[0f32, 200.0], &Device::Cpu)?, Tensor::new(&[1f32, 0.0], &Device::Cpu)?);
/// let loss = f::binary_cross_entropy_with_logits(&x, &y, None, "none", None)?.to_vec1::<f32>()?;
/// assert_eq!(loss, [2f32.ln(), 200.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, *, reduction = "mean", pos_weight = None)]
#[python(nn)]
pub fn binary_cross_entropy_with_logits(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: &str,
    pos_weight: Option<&Tensor>,
) -> Result<Tensor> {
    same_shapes(OP, input, target)?;
    let (input, target) = f::pair(OP, input, target)?;
    let log = f::logsigmoid(&input)?;
    let of_ones = match pos_weight {
        None => log.clone(),
        Some(weight) => {
            let factor = weight.to_dtype(input.dtype())?.affine(1.0, -1.0)?.broadcast_mul(&target)?.affine(1.0, 1.0)?;
            log.broadcast_mul(&factor)?
        }
    };
    let loss = target.affine(-1.0, 1.0)?.broadcast_mul(&input)?.broadcast_sub(&of_ones)?;
    reduced_loss(OP, loss, weight, reduction)
}

/// The divergence of `input`, logarithms of probabilities, from `target`, probabilities, or their logarithms with `log_target`. The
/// reduction `"batchmean"` divides the sum by the length of the input's first dimension.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[-1f32, 0.0], &Device::Cpu)?, Tensor::new(&[1f32, 0.0], &Device::Cpu)?);
/// assert_eq!(f::kl_div(&x, &y, "sum", false)?.to_scalar::<f32>()?, 1.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, reduction = "mean", log_target = false)]
#[python(nn)]
pub fn kl_div(input: &Tensor, target: &Tensor, reduction: &str, log_target: bool) -> Result<Tensor> {
    let batch = input.dims().first().copied().unwrap_or(1);
    let (input, target) = f::pair(OP, input, target)?;
    let loss = match log_target {
        true => target.exp()?.mul(&target.sub(&input)?)?,
        false => f::xlogy((&target).into(), (&target).into())?.sub(&target.mul(&input)?)?,
    };
    match reduction {
        "batchmean" => loss.sum_all()?.affine(1.0 / batch as f64, 0.0),
        other => reduced(OP, loss, other),
    }
}

/// The negative logarithm of a Poisson distribution's density at `target`; `input` is the rate's logarithm, or the rate without
/// `log_input`. Without `full` the term of the target alone is left out; with it, it is Stirling's approximation.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[0f32], &Device::Cpu)?, Tensor::new(&[3f32], &Device::Cpu)?);
/// assert_eq!(f::poisson_nll_loss(&x, &y, true, false, 1e-8, "mean")?.to_scalar::<f32>()?, 1.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(log_input = true, full = false, *, eps = 1e-8, reduction = "mean")]
#[python(nn)]
pub fn poisson_nll_loss(
    input: &Tensor,
    target: &Tensor,
    log_input: bool,
    full: bool,
    eps: f64,
    reduction: &str,
) -> Result<Tensor> {
    let (input, target) = f::pair(OP, &*floating(input)?, target)?;
    let mut loss = match log_input {
        true => input.exp()?.sub(&target.mul(&input)?)?,
        false => input.sub(&target.mul(&input.affine(1.0, eps)?.log()?)?)?,
    };
    if full {
        let log = target.log()?;
        let root = target.affine(2.0 * PI, 0.0)?.log()?.affine(0.5, 0.0)?;
        let stirling = target.mul(&log)?.sub(&target)?.add(&root)?;
        loss = loss.add(&target.gt(1.0)?.where_cond(&stirling, &target.zeros_like()?)?)?;
    }
    reduced(OP, loss, reduction)
}

/// The negative logarithm of a normal distribution's density at `target`, with mean `input` and variance `var`, which is at least `eps`.
/// `var` has the input's shape, or a last dimension of 1 or none. Without `full` the constant term is left out.
///
/// # Errors
/// For shapes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let [x, y, var] = [1f32, 3.0, 1.0].map(|v| Tensor::new(&[v], &Device::Cpu).unwrap());
/// assert_eq!(f::gaussian_nll_loss(&x, &y, (&var).into(), false, 1e-6, "mean")?.to_scalar::<f32>()?, 2.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, full = false, eps = 1e-6, reduction = "mean")]
#[python(nn)]
pub fn gaussian_nll_loss(
    input: &Tensor,
    target: &Tensor,
    var: Operand,
    full: bool,
    eps: f64,
    reduction: &str,
) -> Result<Tensor> {
    let (input, target) = f::pair(OP, input, target)?;
    let var = match var {
        Operand::Scalar(s) => Tensor::full_scalar(s, (), input.dtype(), input.device())?,
        Operand::Tensor(t) if t.rank() + 1 == input.rank() => t.unsqueeze(t.rank())?,
        Operand::Tensor(t) => t.clone(),
    };
    let wide = f::common_dtype(OP, &input, &var)?;
    let var = at_least(eps, &var.to_dtype(wide)?)?;
    let square = input.sub(&target)?.sqr()?.to_dtype(var.dtype())?;
    let loss = square.broadcast_div(&var)?.broadcast_add(&var.log()?)?.affine(0.5, 0.0)?;
    let loss = if full { loss.affine(1.0, 0.5 * (2.0 * PI).ln())? } else { loss };
    reduced(OP, loss, reduction)
}

/// `var`, or `eps` where that is more; its gradient is `var`'s in either case, so that small variances can grow.
#[track_caller]
fn at_least(eps: f64, var: &Tensor) -> Result<Tensor> {
    if !var.requires_grad() {
        return f::clamp(var, Some(eps.into()), None);
    }
    let least = var.sub(&var.detach())?.affine(1.0, eps)?;
    f::where_cond(&var.detach().lt(eps)?, (&least).into(), var.into())
}

/// `ln(1 + e^(-target input))`, targets being 1 or -1.
#[function(*, reduction = "mean")]
#[python(nn)]
pub fn soft_margin_loss(input: &Tensor, target: &Tensor, reduction: &str) -> Result<Tensor> {
    let (input, target) = f::pair(OP, input, target)?;
    reduced(OP, f::logsigmoid(&input.mul(&target)?)?.neg()?, reduction)
}

/// A function of the differences, weighted and reduced.
pub(crate) fn of_differences<F: Unary>(
    op: &'static str,
    f: F,
    [input, target]: [&Tensor; 2],
    weight: Option<&Tensor>,
    reduction: &str,
) -> Result<Tensor> {
    reduced_loss(op, unary(f, &difference(op, input, target)?)?, weight, reduction)
}

#[track_caller]
fn difference(op: &'static str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.shape() == b.shape() && a.dtype() == b.dtype() {
        return a.sub(b);
    }
    let (a, b) = f::pair(op, a, b)?;
    a.sub(&b)
}

pub(crate) fn same_shapes(op: &'static str, input: &Tensor, target: &Tensor) -> Result<()> {
    let accepted = "a target of the input's shape";
    ensure(input.shape() == target.shape(), || Error::shapes(op, input.shape(), target.shape(), accepted))
}

/// Reduces a loss whose mean is weighted as its elements are.
#[track_caller]
fn weighted_mean(op: &'static str, loss: Tensor, weight: Option<&Tensor>, reduction: &str) -> Result<Tensor> {
    match weight {
        Some(weight) if reduction == "mean" => {
            let total = f::sum(&weight.broadcast_as(loss.shape())?, None, false, None)?;
            let sum = f::sum(&weighted(loss, Some(weight))?, None, false, None)?;
            f::div((&sum).into(), (&total).into(), None)
        }
        weight => reduced_loss(op, loss, weight, reduction),
    }
}

#[track_caller]
pub(super) fn weighted(loss: Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    match weight {
        None => Ok(loss),
        Some(weight) => f::mul((&loss).into(), weight.into()),
    }
}

/// A loss of each element times its weight, reduced as a name says.
#[track_caller]
pub(crate) fn reduced_loss(op: &'static str, loss: Tensor, weight: Option<&Tensor>, reduction: &str) -> Result<Tensor> {
    reduced(op, weighted(loss, weight)?, reduction)
}

/// A loss of each element reduced as a name says.
#[track_caller]
pub(super) fn reduced(op: &'static str, loss: Tensor, reduction: &str) -> Result<Tensor> {
    Reduce::named(op, reduction)?.apply(loss, |loss| f::mean(loss, None, false, None))
}
