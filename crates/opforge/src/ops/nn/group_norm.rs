//! `group_norm(x)`: groups of channels of each element of a batch normalised by their own mean and variance.
//!
//! Source: Wu and He, "Group Normalization" (2018).

use opforge_cpu::norm;
use opforge_tile::forms::{Normalize, Over};

use super::batch_norm::{along, channels, check_channels, others, parameters};
use crate::autograd::is_grad_enabled;
use crate::ops::prelude::*;

/// The operator of [`group_norm`]: `x [batch, channels, ..]`, then the weight and the bias where there are any. Its outputs are the result and,
/// `[batch, groups]`, the mean and the variance of the population.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct GroupNorm {
    /// Groups that the channels are divided into.
    pub groups: usize,
    /// Added to the variance.
    pub eps: Scalar,
}

impl GroupNorm {
    fn stats(&self, x: &Meta) -> Meta {
        Meta::contiguous(norm::stats_dtype(x.dtype), (x.dims()[0], self.groups))
    }
}

impl Operator for GroupNorm {
    fn name(&self) -> &'static str {
        "group_norm"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (Some(&x), true) = (inputs.first(), inputs.len() <= 3) else {
            return Err(Error::value("group_norm", "inputs", inputs.len(), "1 to 3 tensors"));
        };
        let channels = channels("group_norm", x.shape())?;
        if self.groups == 0 || !channels.is_multiple_of(self.groups) {
            let accepted = format!("a divisor of the {channels} channels");
            return Err(Error::value("group_norm", "num_groups", self.groups, accepted));
        }
        for param in &inputs[1..] {
            check_channels("group_norm", "weight or bias", param.shape(), channels)?;
            if param.dtype != x.dtype {
                return Err(Error::dtypes("group_norm", x.dtype, param.dtype));
            }
        }
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape()), self.stats(x), self.stats(x)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (full, params) = (full(inputs[0]), ",.".repeat(inputs.len() - 1));
        AxisMap::letters(&format!("{full}{params}->{full},n.,n."), &[])
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::Sets { over: Over::Groups(self.groups), eps: self.eps }))
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
            self.composed_grads(&x, &grad, weight.as_ref())?
        } else {
            let (mean, var) = (ctx.output(1)?, ctx.output(2)?);
            let inputs: SmallVec<[&Tensor; 5]> = [&x, &grad, &mean, &var].into_iter().chain(&weight).collect();
            let [by_x, dw, db] = <[Tensor; 3]>::try_from(dispatch(&GroupNormGrad(self.clone()), &inputs)?.into_vec())
                .expect("three outputs");
            let over_batch = |input, sums: Tensor| ctx.when(input, || sums.sum(0)?.to_dtype(x.dtype()));
            if ctx.input_count() > 1 {
                smallvec![Some(by_x), over_batch(1, dw)?, over_batch(2, db)?]
            } else {
                smallvec![Some(by_x)]
            }
        };
        grads.truncate(ctx.input_count());
        Ok(grads)
    }
}

impl GroupNorm {
    /// The gradients of `x`, weight and bias made of operators, so that they can be differentiated again.
    #[track_caller]
    fn composed_grads(&self, x: &Tensor, grad: &Tensor, weight: Option<&Tensor>) -> Result<Grads> {
        let rows = x.dims()[0] * self.groups;
        let len = x.elem_count().checked_div(rows).unwrap_or(0);
        let by_rows = |t: &Tensor| t.reshape((rows, len));
        let mean = |t: &Tensor| t.mean_keepdim(1);
        let offset = by_rows(x)?;
        let offset = offset.broadcast_sub(&mean(&offset)?)?;
        let rstd = mean(&offset.sqr()?)?.affine(1.0, self.eps.to_f64())?.sqrt()?.recip()?;
        let normal = offset.broadcast_mul(&rstd)?;
        let scaled = weight.map_or_else(|| Ok(grad.clone()), |w| grad.broadcast_mul(&along(w, x.rank())?))?;
        let scaled = by_rows(&scaled)?;
        let inner =
            scaled.broadcast_sub(&mean(&scaled)?)?.sub(&normal.broadcast_mul(&mean(&scaled.mul(&normal)?)?)?)?;
        let (by_x, normal) = (inner.broadcast_mul(&rstd)?.reshape(x.shape())?, normal.reshape(x.shape())?);
        Ok(smallvec![Some(by_x), Some(normal.mul(grad)?.sum(others(x))?), Some(grad.sum(others(x))?)])
    }
}

/// The gradient of [`GroupNorm`] with respect to `x`, and `[batch, channels]` the sums that those with respect to weight and bias are made of;
/// from `x`, the output's gradient, mean, variance and weight. Only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct GroupNormGrad(GroupNorm);

impl Operator for GroupNormGrad {
    fn name(&self) -> &'static str {
        "group_norm_grad"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity_within("group_norm_grad", inputs, 4..=5, (2, 2))?;
        let x = inputs[0];
        let sums = Meta::contiguous(norm::stats_dtype(x.dtype), &x.dims()[..2]);
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape()), sums.clone(), sums])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (full, params) = (full(inputs[0]), ",.".repeat(inputs.len() - 4));
        AxisMap::letters(&format!("{full},{full},n.,n.{params}->{full},n.,n."), &[])
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::SetsGradient { over: Over::Groups(self.0.groups), eps: self.0.eps }))
    }
}

/// The axes of `x`: elements of the batch are independent, all else is needed whole.
fn full(x: &Meta) -> String {
    format!("n{}", ".".repeat(x.rank() - 1))
}

/// The result, the mean and the variance (of the population) of each group.
#[track_caller]
pub(crate) fn of_groups(
    op: &'static str,
    input: &Tensor,
    groups: usize,
    given: [Option<&Tensor>; 2],
    eps: f64,
) -> Result<[Tensor; 3]> {
    let params = parameters(op, input, channels(op, input.shape())?, given)?;
    let inputs: SmallVec<[&Tensor; 3]> = [input].into_iter().chain(&params).collect();
    let outputs = dispatch(&GroupNorm { groups, eps: Scalar::Float(eps) }, &inputs)?;
    Ok(<[Tensor; 3]>::try_from(outputs.into_vec()).expect("three outputs"))
}

/// Groups of channels of `[batch, channels, ..]` normalised, each of `num_groups` groups of each batch element by its own mean and variance
/// (of the population); then each channel is scaled by `weight` and shifted by `bias`.
///
/// # Errors
/// For channels that `num_groups` does not divide, and parameters that are not one number a channel.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 3.0, 10.0, 30.0]], &Device::Cpu)?;
/// let y = opforge::functional::group_norm(&x, 2, None, None, 0.0)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[-1.0, 1.0, -1.0, 1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, bias = None, eps = 1e-5)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, GroupNorm, GroupNormGrad)]
pub fn group_norm(
    input: &Tensor,
    num_groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let groups = usize::try_from(num_groups).unwrap_or(0);
    let [y, _, _] = of_groups(OP, input, groups, [weight, bias], eps)?;
    Ok(y)
}

fn samples() -> Vec<Sample> {
    const EPS: f64 = 0.1;
    let sample = |shape: &[usize], groups: usize, params: usize| {
        let c = shape[1];
        let mut inputs = vec![Array::spread(shape, -2.0..2.0)];
        inputs.extend([Array::spread(&[c], 0.5..2.0), Array::spread(&[c], -1.0..1.0)].into_iter().take(params));
        Sample::many(GroupNorm { groups, eps: Scalar::Float(EPS) }, inputs, move |x| {
            let (rows, dims) = (x[0].shape[0] * groups, &x[0].shape);
            let len = x[0].data.len() / rows;
            let average = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let mean: Vec<f64> = x[0].data.chunks(len).map(average).collect();
            let square =
                |(row, mean): (&[f64], &f64)| average(&row.iter().map(|x| (x - mean).powi(2)).collect::<Vec<_>>());
            let var: Vec<f64> = x[0].data.chunks(len).zip(&mean).map(square).collect();
            let normal = |i: usize| (x[0].data[i] - mean[i / len]) / (var[i / len] + EPS).sqrt();
            let channel = |i: usize| i / (len * groups / dims[1]) % dims[1];
            let y = |i: usize| {
                normal(i) * x.get(1).map_or(1.0, |w| w.data[channel(i)]) + x.get(2).map_or(0.0, |b| b.data[channel(i)])
            };
            let stats = [dims[0], groups];
            vec![
                Array::new(dims, (0..x[0].data.len()).map(y).collect()),
                Array::new(&stats, mean.clone()),
                Array::new(&stats, var.clone()),
            ]
        })
    };
    vec![
        sample(&[2, 4, 5], 2, 2),
        sample(&[3, 4], 2, 2),
        sample(&[2, 3, 3, 2], 3, 1),
        sample(&[2, 3, 20], 1, 0),
        sample(&[1, 2, 2, 2, 2], 2, 2),
    ]
}
