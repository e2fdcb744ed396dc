//! `layer_norm(x) = (x - mean) / sqrt(variance + eps) * weight + bias` over the last dimensions.
//!
//! Source: Ba, Kiros and Hinton, "Layer Normalization" (2016).

use opforge_cpu::norm;
use opforge_tile::forms::Normalize;

use crate::autograd::is_grad_enabled;
use crate::family::norm::{NormInputs, common_float, composed_grad, flatten, grad_axes, grad_metas, row_grads};
use crate::ops::prelude::*;

/// The operator of [`layer_norm`] over the last dimension: `x`, then the weight and the bias where there are any. Its outputs are the
/// result and, a number a row, the mean and the reciprocal of the standard deviation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct LayerNorm {
    /// Added to the variance.
    pub eps: Scalar,
}

impl Operator for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let NormInputs { x, rows, .. } = NormInputs::check("layer_norm", inputs, 2)?;
        let stats = Meta::contiguous(norm::stats_dtype(x.dtype), rows);
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape()), stats.clone(), stats])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        crate::family::norm::axes(inputs, 3)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::Rows { eps: self.eps }))
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
        if is_grad_enabled() {
            let (mean, rstd) = statistics(&x, self.eps.to_f64())?;
            return composed_grad(ctx, &x.broadcast_sub(&mean)?, &rstd, weight.as_ref(), true);
        }
        let (mean, rstd) = (ctx.output(1)?, ctx.output(2)?);
        let inputs: SmallVec<[&Tensor; 5]> = [&x, &grad, &mean, &rstd].into_iter().chain(&weight).collect();
        row_grads(ctx, &LayerNormGrad { sums: ctx.input_count() - 1 }, &inputs)
    }
}

/// Mean and reciprocal standard deviation of each row, composed of operators.
#[track_caller]
fn statistics(x: &Tensor, eps: f64) -> Result<(Tensor, Tensor)> {
    let mean = x.mean_keepdim(x.rank() - 1)?;
    let variance = x.broadcast_sub(&mean)?.sqr()?.mean_keepdim(x.rank() - 1)?;
    Ok((mean, variance.affine(1.0, eps)?.sqrt()?.recip()?))
}

/// The gradient of [`LayerNorm`] with respect to `x`, and those of the parameters summed over chunks of rows; from `x`, the output's gradient,
/// mean, reciprocal deviation and weight. Only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct LayerNormGrad {
    /// Parameters that there are.
    sums: usize,
}

impl Operator for LayerNormGrad {
    fn name(&self) -> &'static str {
        "layer_norm_grad"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        grad_metas(self.name(), inputs, 2, self.sums)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        grad_axes(inputs, 2, 1 + self.sums)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::RowsGradient))
    }
}

/// `(x - mean) / sqrt(variance + eps) * weight + bias`, mean and variance (of the population) over the last dimensions, whose lengths are
/// `normalized_shape`; weight and bias have that shape.
///
/// Takes floating-point tensors; the result has the input's shape and dtype. With parameters of another dtype (f32 ones of an input in halves) it is
/// computed in that to which all promote, and rounded once.
///
/// # Errors
/// When the input's shape does not end in `normalized_shape`, or weight or bias have another.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 3.0], [5.0, 5.0]], &Device::Cpu)?;
/// let y = opforge::functional::layer_norm(&x, &[2], None, None, 0.0)?;
/// assert_eq!(y.narrow(0, 0, 1)?.to_vec2::<f32>()?, [[-1.0, 1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, bias = None, eps = 1e-5)]
#[python(torch, nn)]
#[operator(DTypes::FLOATS, samples, LayerNorm, LayerNormGrad)]
pub fn layer_norm(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    if let Some(wide) = common_float(OP, input, [weight, bias])? {
        let [weight, bias] = [weight, bias].map(|param| param.map(|param| param.to_dtype(wide)).transpose());
        let y = layer_norm(&input.to_dtype(wide)?, normalized_shape, weight?.as_ref(), bias?.as_ref(), eps)?;
        return y.to_dtype(input.dtype());
    }
    let inputs = flatten(OP, input, normalized_shape, [weight, bias])?;
    let op = LayerNorm { eps: Scalar::Float(eps) };
    let mut outputs = dispatch(&op, &inputs.iter().collect::<Vec<_>>())?;
    outputs.swap_remove(0).reshape(input.shape())
}

fn samples() -> Vec<Sample> {
    const EPS: f64 = 0.1;
    let sample = |shape: &[usize], params: usize| {
        let n = shape[shape.len() - 1];
        let mut inputs = vec![Array::spread(shape, -2.0..2.0)];
        inputs.extend([Array::spread(&[n], 0.5..2.0), Array::spread(&[n], -1.0..1.0)].into_iter().take(params));
        let last = Axes::of(&[shape.len() - 1]);
        Sample::many(LayerNorm { eps: Scalar::Float(EPS) }, inputs, move |x| {
            let mean = reduce_array(&x[0], last, true, |row| row.iter().sum::<f64>() / row.len() as f64);
            let off = Array::from_fn(&x[0].shape, |i| x[0].at(i) - mean.at_broadcast(i));
            let square = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
            let rstd = reduce_array(&off, last, true, |row| 1.0 / (square(row) + EPS).sqrt());
            let y = Array::from_fn(&x[0].shape, |i| {
                let weight = x.get(1).map_or(1.0, |w| w.at_broadcast(i));
                off.at(i) * rstd.at_broadcast(i) * weight + x.get(2).map_or(0.0, |b| b.at_broadcast(i))
            });
            let rows = |a: Array| Array::new(&x[0].shape[..x[0].shape.len() - 1], a.data);
            vec![y, rows(mean), rows(rstd)]
        })
    };
    let mut samples = vec![sample(&[3, 4], 2), sample(&[2, 3, 5], 1), sample(&[4], 0), sample(&[2, 20], 2)];
    let (inputs, by_operator) = (samples[0].inputs.clone(), samples[0].clone());
    samples.push(Sample::composed(
        "layer_norm",
        |x| layer_norm(x[0], &[4], Some(x[1]), Some(x[2]), EPS),
        inputs,
        move |x| by_operator.expected(x).swap_remove(0),
    ));
    samples
}
