//! `batch_norm(x)`: each channel normalised by its mean and variance over the batch, or by running averages of them.
//!
//! Source: Ioffe and Szegedy, "Batch Normalization" (2015).

use opforge_cpu::norm;
use opforge_tile::forms::{Normalize, Over};

use crate::autograd::{is_grad_enabled, no_grad};
use crate::dispatch::check_writable;
use crate::family::channel_affine::{ChannelAffine, channel_affine};
use crate::ops::prelude::*;
use crate::ops::reduce::var::widened;

/// The operator of [`batch_norm`] in training: `x [batch, channels, ..]`, then the weight and the bias where there are any. Its outputs are the
/// result and, a number a channel, the mean and the variance of the population.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct BatchNorm {
    /// Added to the variance.
    pub eps: Scalar,
}

impl Operator for BatchNorm {
    fn name(&self) -> &'static str {
        "batch_norm"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (Some(&x), true) = (inputs.first(), inputs.len() <= 3) else {
            return Err(Error::value("batch_norm", "inputs", inputs.len(), "1 to 3 tensors"));
        };
        let channels = channels("batch_norm", x.shape())?;
        for param in &inputs[1..] {
            check_channels("batch_norm", "weight or bias", param.shape(), channels)?;
            if param.dtype != x.dtype {
                return Err(Error::dtypes("batch_norm", x.dtype, param.dtype));
            }
        }
        let stats = Meta::contiguous(norm::stats_dtype(x.dtype), channels);
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape()), stats.clone(), stats])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        channel_axes(inputs, 3)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::Sets { over: Over::Batch, eps: self.eps }))
    }

    fn decompose(&self, inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        let composed = || {
            let x = widened(inputs[0])?;
            let (offset, mean, var) = centered(&x)?;
            let mut y = offset.broadcast_mul(&var.affine(1.0, self.eps.to_f64())?.sqrt()?.recip()?)?;
            if let Some(weight) = inputs.get(1) {
                y = y.broadcast_mul(&along(&widened(weight)?, x.rank())?)?;
            }
            if let Some(bias) = inputs.get(2) {
                y = y.broadcast_add(&along(&widened(bias)?, x.rank())?)?;
            }
            Ok(smallvec![y.to_dtype(inputs[0].dtype())?, mean.flatten_all()?, var.flatten_all()?])
        };
        Some(composed())
    }

    fn differentiable_outputs(&self) -> u32 {
        0b1
    }

    fn saves(&self) -> Saves {
        Saves { inputs: 0b11, outputs: 0b110 }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let weight = if ctx.input_count() > 1 { Some(ctx.input(1)?) } else { None };
        let mut grads: Grads = if is_grad_enabled() {
            composed_grads(&x, &grad, weight.as_ref(), self.eps.to_f64())?
        } else {
            let (mean, var) = (ctx.output(1)?, ctx.output(2)?);
            let inputs: SmallVec<[&Tensor; 5]> = [&x, &grad, &mean, &var].into_iter().chain(&weight).collect();
            let grads = dispatch(&BatchNormGrad { eps: self.eps }, &inputs)?;
            grads.into_iter().map(|grad| grad.to_dtype(x.dtype()).map(Some)).collect::<Result<_>>()?
        };
        grads.truncate(ctx.input_count());
        Ok(grads)
    }
}

/// The dimensions that a channel extends over.
pub(super) fn others(x: &Tensor) -> Vec<usize> {
    (0..x.rank()).filter(|&d| d != 1).collect()
}

/// A number a channel, to be broadcast to a tensor of this rank.
#[track_caller]
pub(super) fn along(t: &Tensor, rank: usize) -> Result<Tensor> {
    t.reshape((0..rank).map(|d| if d == 1 { t.elem_count() } else { 1 }).collect::<Vec<_>>())
}

/// The mean of each channel, in dimensions of length 1 beside its own.
#[track_caller]
fn channel_mean(t: &Tensor) -> Result<Tensor> {
    let dims = others(t);
    let count = dims.iter().map(|&d| t.dims()[d]).product::<usize>() as f64;
    t.sum_keepdim(dims)?.affine(1.0 / count, 0.0)
}

/// How far elements are from their channel's mean, that mean, and the variance.
#[track_caller]
fn centered(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let mean = channel_mean(x)?;
    let offset = x.broadcast_sub(&mean)?;
    let var = channel_mean(&offset.sqr()?)?;
    Ok((offset, mean, var))
}

/// The gradients of `x`, weight and bias made of operators, so that they can be differentiated again.
#[track_caller]
fn composed_grads(x: &Tensor, grad: &Tensor, weight: Option<&Tensor>, eps: f64) -> Result<Grads> {
    let (offset, _, var) = centered(x)?;
    let rstd = var.affine(1.0, eps)?.sqrt()?.recip()?;
    let normal = offset.broadcast_mul(&rstd)?;
    let slope = channel_mean(&grad.mul(&normal)?)?;
    let inner = grad.broadcast_sub(&channel_mean(grad)?)?.sub(&normal.broadcast_mul(&slope)?)?;
    let mut by_x = inner.broadcast_mul(&rstd)?;
    if let Some(weight) = weight {
        by_x = by_x.broadcast_mul(&along(weight, x.rank())?)?;
    }
    let dims = others(x);
    Ok(smallvec![Some(by_x), Some(normal.mul(grad)?.sum(dims.clone())?), Some(grad.sum(dims)?)])
}

/// The gradients of [`BatchNorm`] with respect to `x`, weight and bias, those in the statistics' dtype, from `x`, the output's gradient, mean, variance and weight. Only
/// called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct BatchNormGrad {
    eps: Scalar,
}

impl Operator for BatchNormGrad {
    fn name(&self) -> &'static str {
        "batch_norm_grad"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity_within("batch_norm_grad", inputs, 4..=5, (2, 2))?;
        let x = inputs[0];
        let sums = Meta::contiguous(norm::stats_dtype(x.dtype), channels("batch_norm_grad", x.shape())?);
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape()), sums.clone(), sums])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let mut map = channel_axes(inputs, 3);
        map.inputs[1] = map.inputs[0].clone();
        map
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::SetsGradient { over: Over::Batch, eps: self.eps }))
    }

    fn decompose(&self, inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        let composed = || {
            let weight = inputs.get(4).map(|weight| widened(weight)).transpose()?;
            let grads = composed_grads(&widened(inputs[0])?, &widened(inputs[1])?, weight.as_ref(), self.eps.to_f64())?;
            let mut grads: Tensors = grads.into_iter().flatten().collect();
            grads[0] = grads[0].to_dtype(inputs[0].dtype())?;
            Ok(grads)
        };
        Some(composed())
    }
}

/// Channels are independent; what a channel extends over is needed whole. The first input and output have all dimensions.
fn channel_axes(inputs: &[&Meta], outputs: usize) -> AxisMap {
    let full: String = (0..inputs[0].rank()).map(|d| if d == 1 { 'c' } else { '.' }).collect();
    let all = |count: usize| [full.clone(), ",c".repeat(count - 1)].concat();
    AxisMap::letters(&format!("{}->{}", all(inputs.len()), all(outputs)), &[])
}

/// The number of channels of `[batch, channels, ..]`.
pub(super) fn channels(op: &'static str, shape: &Shape) -> Result<usize> {
    let channels = shape.dims().get(1).copied();
    channels.ok_or_else(|| Error::shape(op, "input", format!("{shape:?}"), "[batch, channels, ..]"))
}

pub(crate) fn check_channels(op: &'static str, name: &'static str, shape: &Shape, channels: usize) -> Result<()> {
    if shape.dims() == [channels] {
        return Ok(());
    }
    Err(Error::shape(op, name, format!("{shape:?}"), format!("[{channels}]")))
}

/// Running averages that can be written: checked before any of them is, so that a refusal leaves all as they were.
pub(crate) fn check_running(op: &'static str, running: [Option<&Tensor>; 2], channels: usize) -> Result<()> {
    for (name, running) in ["running_mean", "running_var"].into_iter().zip(running) {
        let Some(running) = running else { continue };
        check_channels(op, name, running.shape(), channels)?;
        if !running.dtype().is_float() {
            return Err(Error::dtype(op, name, running.dtype().long_name(), "a floating-point dtype"));
        }
        check_writable(op, name, running)?;
    }
    Ok(())
}

/// What is added to a running average, and what of it stays.
#[track_caller]
pub(crate) fn update_running(running: &Tensor, now: &Tensor, momentum: f64) -> Result<()> {
    let old = running.detach();
    let kept = crate::functional::affine(&old, 1.0 - momentum, 0.0)?;
    let new = kept.add(&now.affine(momentum, 0.0)?.to_dtype(old.dtype())?)?;
    old.copy_from(&new)
}

/// Weight and bias in the input's dtype, ones if there is a bias alone.
#[track_caller]
pub(super) fn parameters(
    op: &'static str,
    input: &Tensor,
    channels: usize,
    given: [Option<&Tensor>; 2],
) -> Result<SmallVec<[Tensor; 2]>> {
    for (name, param) in ["weight", "bias"].into_iter().zip(given) {
        param.map_or(Ok(()), |param| check_channels(op, name, param.shape(), channels))?;
    }
    let ones = match given {
        [None, Some(_)] => Some(Tensor::ones(channels, input.dtype(), input.device())?),
        _ => None,
    };
    let all = [given[0].or(ones.as_ref()), given[1]];
    all.into_iter().flatten().map(|param| param.to_dtype(input.dtype())).collect()
}

/// The result, the mean and the unbiased variance of a batch.
#[track_caller]
fn of_batch(input: &Tensor, given: [Option<&Tensor>; 2], eps: f64) -> Result<(Tensor, Tensor, Tensor)> {
    let channels = channels("batch_norm", input.shape())?;
    let count = input.elem_count().checked_div(channels).unwrap_or(0);
    if count == 1 {
        let accepted = "more than one value a channel in training";
        return Err(Error::shape("batch_norm", "input", format!("{:?}", input.shape()), accepted));
    }
    let params = parameters("batch_norm", input, channels, given)?;
    let inputs: SmallVec<[&Tensor; 3]> = [input].into_iter().chain(&params).collect();
    let mut outputs = dispatch(&BatchNorm { eps: Scalar::Float(eps) }, &inputs)?.into_iter();
    let (y, mean, var) = (outputs.next(), outputs.next(), outputs.next());
    let [y, mean, var] = [y, mean, var].map(|t| t.expect("three outputs"));
    let unbiased = count as f64 / (count as f64 - 1.0);
    let var = no_grad(|| var.affine(unbiased, 0.0))?;
    Ok((y, mean, var))
}

/// The input normalised by given statistics.
#[track_caller]
fn by_running(input: &Tensor, [mean, var]: [&Tensor; 2], given: [Option<&Tensor>; 2], eps: f64) -> Result<Tensor> {
    let channels = channels("batch_norm", input.shape())?;
    let params = parameters("batch_norm", input, channels, given)?;
    if !input.dtype().is_float() {
        return Err(Error::UnsupportedDTypeForOp(input.dtype(), "batch_norm"));
    }
    let stats = norm::stats_dtype(input.dtype());
    let mut scale = var.to_dtype(stats)?.affine(1.0, eps)?.sqrt()?.recip()?;
    if let Some(weight) = params.first() {
        scale = scale.mul(&weight.to_dtype(stats)?)?;
    }
    let shift = match params.get(1) {
        Some(bias) => bias.to_dtype(stats)?,
        None => scale.zeros_like()?,
    };
    channel_affine(input, [&mean.to_dtype(stats)?, &scale, &shift])
}

/// Each channel of `[batch, channels, ..]` normalised: `(x - mean) / sqrt(variance + eps) * weight + bias`. In training, mean and variance
/// (of the population) are those of the batch, and the running ones, if given, move towards them by the share `momentum` (the variance
/// towards the unbiased one), in place, unless there are no elements. Otherwise the running ones are used.
///
/// # Errors
/// For parameters or statistics that are not one number a channel; in training for one value a channel; without running
/// statistics outside of training.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 10.0], [3.0, 10.0]], &Device::Cpu)?;
/// let y = opforge::functional::batch_norm(&x, None, None, None, None, true, 0.1, 0.0)?;
/// assert_eq!(y.i((.., 0))?.to_vec1::<f32>()?, [-1.0, 1.0]);
/// # use opforge::IndexOp;
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, bias = None, training = false, momentum = 0.1, eps = 1e-5)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, BatchNorm, BatchNormGrad, ChannelAffine)]
pub fn batch_norm(
    input: &Tensor,
    running_mean: Option<&Tensor>,
    running_var: Option<&Tensor>,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    training: bool,
    momentum: f64,
    eps: f64,
) -> Result<Tensor> {
    if input.dims() == [0] && input.dtype().is_float() {
        return crate::functional::constant_in(input.zeros_like()?, &[input]);
    }
    let channels = channels(OP, input.shape())?;
    for (name, running) in [("running_mean", running_mean), ("running_var", running_var)] {
        running.map_or(Ok(()), |t| check_channels(OP, name, t.shape(), channels))?;
    }
    if !training {
        let (Some(mean), Some(var)) = (running_mean, running_var) else {
            return Err(Error::value(OP, "running_mean or running_var", "None", "both, outside of training"));
        };
        return by_running(input, [mean, var], [weight, bias], eps);
    }
    check_running(OP, [running_mean, running_var], channels)?;
    if input.elem_count() == 0 && input.dtype().is_float() {
        let params = parameters(OP, input, channels, [weight, bias])?;
        let inputs: SmallVec<[&Tensor; 3]> = [input].into_iter().chain(&params).collect();
        return crate::functional::constant_in(input.zeros_like()?, &inputs);
    }
    let (y, mean, var) = of_batch(input, [weight, bias], eps)?;
    no_grad(|| {
        for (running, now) in [(running_mean, mean), (running_var, var)] {
            running.map_or(Ok(()), |running| update_running(running, &now, momentum))?;
        }
        Ok(y)
    })
}

fn samples() -> Vec<Sample> {
    const EPS: f64 = 0.1;
    let sample = |shape: &[usize], params: usize| {
        let c = shape[1];
        let mut inputs = vec![Array::spread(shape, -2.0..2.0)];
        inputs.extend([Array::spread(&[c], 0.5..2.0), Array::spread(&[c], -1.0..1.0)].into_iter().take(params));
        let axes = Axes::of(&(0..shape.len()).filter(|&d| d != 1).collect::<Vec<_>>());
        Sample::many(BatchNorm { eps: Scalar::Float(EPS) }, inputs, move |x| {
            let average = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let mean = reduce_array(&x[0], axes, false, average);
            let off = Array::from_fn(&x[0].shape, |i| x[0].at(i) - mean.at(&i[1..2]));
            let var = reduce_array(&off.map(|x| x * x), axes, false, average);
            let y = Array::from_fn(&x[0].shape, |i| {
                let (weight, bias) =
                    (x.get(1).map_or(1.0, |w| w.at(&i[1..2])), x.get(2).map_or(0.0, |b| b.at(&i[1..2])));
                off.at(i) / (var.at(&i[1..2]) + EPS).sqrt() * weight + bias
            });
            vec![y, mean, var]
        })
    };
    let running = |shape: &[usize]| {
        let of_channels = || Array::spread(&shape[1..2], 0.5..2.0);
        let inputs = [vec![Array::spread(shape, -2.0..2.0)], (0..4).map(|_| of_channels()).collect()].concat();
        let call = |x: &[&Tensor]| batch_norm(x[0], Some(x[1]), Some(x[2]), Some(x[3]), Some(x[4]), false, 0.1, EPS);
        Sample::composed("batch_norm", call, inputs, |x| {
            Array::from_fn(&x[0].shape, |i| {
                let [mean, var, weight, bias] = [1, 2, 3, 4].map(|t| x[t].at(&i[1..2]));
                (x[0].at(i) - mean) / (var + EPS).sqrt() * weight + bias
            })
        })
    };
    vec![
        sample(&[3, 2, 4], 2),
        sample(&[4, 3], 2),
        sample(&[2, 2, 3, 3], 1),
        sample(&[2, 3, 20], 0),
        running(&[2, 3, 20]),
        running(&[3, 2]),
    ]
}
