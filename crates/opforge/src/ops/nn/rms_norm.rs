//! `rms_norm(x) = x / sqrt(mean(x^2) + eps) * weight` over the last dimensions.
//!
//! Source: Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).

use opforge_cpu::norm;
use opforge_tile::forms::Normalize;

use crate::autograd::is_grad_enabled;
use crate::family::norm::{NormInputs, common_float, composed_grad, flatten, grad_axes, grad_metas, row_grads};
use crate::ops::prelude::*;

/// The operator of [`rms_norm`] over the last dimension: `x`, then the weight where there is one. Its outputs are the result and, a number a
/// row, the reciprocal of the root mean square.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct RmsNorm {
    /// Added to the mean square.
    pub eps: Scalar,
}

impl Operator for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let NormInputs { x, rows, .. } = NormInputs::check("rms_norm", inputs, 1)?;
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape()), Meta::contiguous(norm::stats_dtype(x.dtype), rows)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        crate::family::norm::axes(inputs, 2)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::RootMeanSquare { eps: self.eps }))
    }

    fn differentiable_outputs(&self) -> u32 {
        0b1
    }

    fn saves(&self) -> Saves {
        Saves { inputs: 0b11, outputs: 0b10 }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let weight = if ctx.input_count() > 1 { Some(ctx.input(1)?) } else { None };
        if is_grad_enabled() {
            let square = x.sqr()?.mean_keepdim(x.rank() - 1)?;
            let rstd = square.affine(1.0, self.eps.to_f64())?.sqrt()?.recip()?;
            return composed_grad(ctx, &x, &rstd, weight.as_ref(), false);
        }
        let rstd = ctx.output(1)?;
        let inputs: SmallVec<[&Tensor; 5]> = [&x, &grad, &rstd].into_iter().chain(&weight).collect();
        row_grads(ctx, &RmsNormGrad { sums: ctx.input_count() - 1 }, &inputs)
    }
}

/// The gradient of [`RmsNorm`] with respect to `x`, and that of the weight summed over chunks of rows; from `x`, the output's gradient, the
/// reciprocal root mean square and the weight. Only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct RmsNormGrad {
    /// Parameters that there are.
    sums: usize,
}

impl Operator for RmsNormGrad {
    fn name(&self) -> &'static str {
        "rms_norm_grad"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        grad_metas(self.name(), inputs, 1, self.sums)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        grad_axes(inputs, 1, 1 + self.sums)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::RootMeanSquareGradient))
    }
}

/// `x / sqrt(mean(x^2) + eps) * weight`, the mean over the last dimensions, whose lengths are `normalized_shape`; the weight has
/// that shape. Without `eps`: the distance from 1 to the next number of what is computed with, f64 for f64 and else f32.
///
/// Takes floating-point tensors; the result has the input's shape and dtype, whatever the weight's.
///
/// # Errors
/// When the input's shape does not end in `normalized_shape`, or the weight has another.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[3f32, -3.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::rms_norm(&x, &[2], None, Some(0.0))?.to_vec2::<f32>()?, [[1.0, -1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weight = None, eps = None)]
#[python(torch, nn)]
#[operator(DTypes::FLOATS, samples, RmsNorm, RmsNormGrad)]
pub fn rms_norm(input: &Tensor, normalized_shape: &[i64], weight: Option<&Tensor>, eps: Option<f64>) -> Result<Tensor> {
    let eps = eps.unwrap_or(if input.dtype() == DType::F64 { f64::EPSILON } else { f32::EPSILON.into() });
    if let Some(wide) = common_float(OP, input, [weight, None])? {
        let weight = weight.map(|weight| weight.to_dtype(wide)).transpose()?;
        return rms_norm(&input.to_dtype(wide)?, normalized_shape, weight.as_ref(), Some(eps))?.to_dtype(input.dtype());
    }
    let inputs = flatten(OP, input, normalized_shape, [weight, None])?;
    let mut outputs = dispatch(&RmsNorm { eps: Scalar::Float(eps) }, &inputs.iter().collect::<Vec<_>>())?;
    outputs.swap_remove(0).reshape(input.shape())
}

fn samples() -> Vec<Sample> {
    const EPS: f64 = 0.1;
    let sample = |shape: &[usize], weighted: bool| {
        let n = shape[shape.len() - 1];
        let mut inputs = vec![Array::spread(shape, -2.0..2.0)];
        inputs.extend(weighted.then(|| Array::spread(&[n], 0.5..2.0)));
        let last = Axes::of(&[shape.len() - 1]);
        Sample::many(RmsNorm { eps: Scalar::Float(EPS) }, inputs, move |x| {
            let square = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
            let rstd = reduce_array(&x[0], last, true, |row| 1.0 / (square(row) + EPS).sqrt());
            let y = Array::from_fn(&x[0].shape, |i| {
                x[0].at(i) * rstd.at_broadcast(i) * x.get(1).map_or(1.0, |w| w.at_broadcast(i))
            });
            vec![y, Array::new(&x[0].shape[..x[0].shape.len() - 1], rstd.data)]
        })
    };
    let mut samples = vec![sample(&[3, 4], true), sample(&[2, 3, 5], false), sample(&[4], true)];
    let (inputs, by_operator) = (samples[0].inputs.clone(), samples[0].clone());
    samples.push(Sample::composed(
        "rms_norm",
        |x| rms_norm(x[0], &[4], Some(x[1]), Some(EPS)),
        inputs,
        move |x| by_operator.expected(x).swap_remove(0),
    ));
    samples
}
