//! `linear(x, weight, bias) = x weight^T + bias`.

use opforge_tile::forms::Contract;

use crate::autograd::sum_to;
use crate::functional::{self as f};
use crate::ops::prelude::*;

/// The operator of [`linear`]: `x` is `[.., k]`, the weight `[n, k]`, the optional bias `[n]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Linear;

impl Operator for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        if inputs.len() != 3 {
            arity("linear", inputs, 2)?;
        }
        let (x, w) = (inputs[0], inputs[1]);
        if w.rank() != 2 || x.rank() == 0 || x.dims()[x.rank() - 1] != w.dims()[1] {
            return Err(Error::shapes("linear", x.shape(), w.shape(), "an input [.., k] and a weight [n, k]"));
        }
        let n = w.dims()[0];
        if let Some(bias) = inputs.get(2)
            && bias.dims() != [n]
        {
            return Err(wrong_shape("linear", "bias", bias.shape(), format!("[{n}]")));
        }
        inputs[1..].iter().try_for_each(|other| check_dtypes("linear", x, other))?;
        let shape: Shape = x.dims()[..x.rank() - 1].iter().copied().chain([n]).collect();
        Ok(smallvec![Meta::contiguous(x.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let lead = (inputs[0].rank() - 1) as Axis;
        let (k, n) = (lead, lead + 1);
        let with = |last: Axis| (0..lead).chain([last]).map(Some).collect();
        let mut map = AxisMap {
            inputs: vec![with(k), smallvec![Some(n), Some(k)]],
            outputs: vec![with(n)],
            roles: SmallVec::from_elem(Role::Map, usize::from(lead) + 2),
        };
        if inputs.len() == 3 {
            map.inputs.push(smallvec![Some(n)]);
        }
        map.with_roles(&[k.into()], Role::SumWith)
    }

    fn lower(&self, inputs: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Contract(Contract::Linear { bias: inputs.len() == 3 }))
    }

    fn saves(&self) -> Saves {
        Saves::inputs([0, 1])
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let rows = |t: &Tensor| {
            let (lead, last) = t.dims().split_at(t.rank() - 1);
            t.reshape((lead.iter().product::<usize>(), last[0]))
        };
        let x = ctx.when(0, || rows(&grad)?.matmul(&ctx.input(1)?)?.reshape(ctx.input_meta(0).shape()))?;
        let w = ctx.when(1, || rows(&grad)?.t()?.matmul(&rows(&ctx.input(0)?)?))?;
        let mut grads: Grads = smallvec![x, w];
        if ctx.input_count() == 3 {
            grads.push(ctx.when(2, || sum_to(&grad, ctx.input_meta(2).shape()))?);
        }
        Ok(grads)
    }
}

/// `input weight^T + bias` over the last dimension: `input` is `[.., k]`, `weight` `[n, k]`, `bias` `[n]` or one number, the result `[.., n]`; or `weight`
/// `[k]`, `bias` a scalar, and the result `[..]`. All of one dtype.
///
/// # Errors
/// For other shapes, and dtypes that differ.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// let w = Tensor::new(&[[1f32, 1.0], [0.0, 1.0], [2.0, 0.0]], &Device::Cpu)?;
/// let b = Tensor::new(&[0f32, 0.0, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::linear(&x, &w, Some(&b))?.to_vec1::<f32>()?, [3.0, 2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None)]
#[python(nn)]
#[operator(DTypes::NUMERIC, samples, Linear)]
pub fn linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    if weight.rank() == 1 {
        let y = f::matmul(input, weight)?;
        return bias.map_or(Ok(y.clone()), |bias| y.broadcast_add(bias));
    }
    if [input, weight].iter().any(|t| t.dtype().is_complex()) {
        let y = f::matmul(input, &f::transpose(weight, -2, -1)?)?;
        return bias.map_or(Ok(y.clone()), |bias| f::add((&y).into(), bias.into(), Scalar::Int(1)));
    }
    match bias {
        Some(bias) if bias.elem_count() == 1 && bias.rank() < 2 && weight.rank() == 2 => {
            dispatch1(&Linear, &[input, weight, &bias.broadcast_as(&weight.dims()[..1])?])
        }
        Some(bias) => dispatch1(&Linear, &[input, weight, bias]),
        None => dispatch1(&Linear, &[input, weight]),
    }
}

fn samples() -> Vec<Sample> {
    let sample = |x: &[usize], n: usize, bias: bool| {
        let k = x[x.len() - 1];
        let mut inputs = vec![Array::spread(x, -2.0..2.0), Array::spread(&[n, k], -2.0..2.0)];
        if bias {
            inputs.push(Array::spread(&[n], -2.0..2.0));
        }
        let out = [&x[..x.len() - 1], &[n]].concat();
        Sample::new(Linear, inputs, move |x| {
            Array::from_fn(&out, |index| {
                let (lead, j) = (&index[..index.len() - 1], index[index.len() - 1]);
                let sum: f64 = (0..k).map(|l| x[0].at(&[lead, &[l]].concat()) * x[1].at(&[j, l])).sum();
                sum + x.get(2).map_or(0.0, |b| b.at(&[j]))
            })
        })
    };
    vec![sample(&[3, 4], 2, true), sample(&[2, 3, 4], 5, false), sample(&[4], 3, true), sample(&[2, 2, 3], 1, true)]
}
