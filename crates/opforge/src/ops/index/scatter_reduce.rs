//! `scatter_reduce(x, dim, index, src)`: `src` combined with what is at the places that an index tensor names.

use opforge_tile::forms::{Combine, Index, Indices, Special};

use super::gather::Gather;
use super::scatter_add::ScatterAdd;
use crate::family::index::{check_scatter, widen, written_axes};
use crate::functional as f;
use crate::functional::along_dimension;
use crate::ops::prelude::*;

/// The operator of [`scatter_reduce`] for products and extremes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct ScatterReduce {
    /// The dimension that is indexed.
    pub dim: usize,
    /// How values are combined.
    pub how: Combine,
}

impl Plain for ScatterReduce {
    const NAME: &'static str = "scatter_reduce";
    const INPUTS: usize = 3;
    const SAVES: Saves = Saves { inputs: 0b111, outputs: 0b1 };
    const OVERWRITES: u32 = 1;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        check_scatter(Self::NAME, inputs, self.dim)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        written_axes(inputs, self.dim)
    }

    fn form(&self, place: &Place) -> Lowering {
        let indices = Indices { special: Special::None, part: place.of_input(0, self.dim) };
        Lowering::Index(Index::Scatter { axis: self.dim, indices, how: self.how })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let whole = ctx.input(2)?;
        let ids = ctx.input(1)?;
        let used = ids.dims().iter().enumerate().try_fold(whole, |src, (d, &n)| src.narrow(d, 0, n))?;
        let (x, src) = match self.how {
            Combine::Multiply => self.product_grads(ctx, &ids, &used)?,
            _ => self.extreme_grads(ctx, &ids, &used)?,
        };
        Ok(smallvec![Some(x), None, Some(widen(&src, ctx.input_meta(2))?)])
    }
}

impl ScatterReduce {
    #[track_caller]
    fn gather(&self, t: &Tensor, ids: &Tensor) -> Result<Tensor> {
        dispatch1(&Gather { dim: self.dim, special: Special::None }, &[t, ids])
    }

    #[track_caller]
    fn count(&self, into: &Tensor, ids: &Tensor, flags: &Tensor) -> Result<Tensor> {
        dispatch1(&ScatterAdd { dim: self.dim, special: Special::None }, &[into, ids, flags])
    }

    /// The product of the others, for each factor: the whole product divided by it, or, of a product with a single zero, that without it.
    #[track_caller]
    fn product_grads(&self, ctx: &Backward<'_>, ids: &Tensor, src: &Tensor) -> Result<(Tensor, Tensor)> {
        let (x, y, grad) = (ctx.input(0)?, ctx.output(0)?, ctx.grad(0)?);
        let of_ones = dispatch1(self, &[&x.ones_like()?, ids, src])?;
        let zero = src.eq(0.0)?;
        let zeros = self.gather(&self.count(&x.zeros_like()?, ids, &zero.to_dtype(x.dtype())?)?, ids)?;
        let single = (zero.mul(&zeros.eq(1.0)?))?;
        let one = src.ones_like()?;
        let without = dispatch1(self, &[&x, ids, &single.where_cond(&one, src)?])?;
        let divided = self.gather(&grad.mul(&y)?, ids)?.div(&zero.where_cond(&one, src)?)?;
        let by_src = single.where_cond(&self.gather(&grad.mul(&without)?, ids)?, &divided)?;
        Ok((grad.mul(&of_ones)?, by_src))
    }

    /// Shared evenly by all that are equal to the extreme.
    #[track_caller]
    fn extreme_grads(&self, ctx: &Backward<'_>, ids: &Tensor, src: &Tensor) -> Result<(Tensor, Tensor)> {
        let (x, y, grad) = (ctx.input(0)?.detach(), ctx.output(0)?.detach(), ctx.grad(0)?);
        let by_x = x.eq(&y)?.to_dtype(x.dtype())?;
        let by_src = src.detach().eq(&self.gather(&y, ids)?)?.to_dtype(x.dtype())?;
        let share = grad.div(&self.count(&by_x, ids, &by_src)?)?;
        Ok((share.mul(&by_x)?, self.gather(&share, ids)?.mul(&by_src)?))
    }
}

/// A copy of `input` with `src` combined, along `dim` at `index`, with what is there: `reduce` is `"sum"`, `"prod"`, `"mean"`, `"amax"` or
/// `"amin"`; of truth values sums are true where one is, products where all are, and there are no means. Without `include_self` the values of `input` stay
/// only where nothing is written.
///
/// # Errors
/// For an index that is negative or beyond the dimension, and another `reduce`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let (ids, src) = (Tensor::new(&[0i64, 2, 0], &Device::Cpu)?, Tensor::new(&[10f32, 20.0, 30.0], &Device::Cpu)?);
/// let y = opforge::functional::scatter_reduce(&x, 0, &ids, &src, "amax", true)?;
/// assert_eq!(y.to_vec1::<f32>()?, [30.0, 2.0, 20.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, include_self = true, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, ScatterReduce)]
pub fn scatter_reduce(
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    src: &Tensor,
    reduce: &str,
    include_self: bool,
) -> Result<Tensor> {
    let place = normalize_dim(dim, input.rank(), OP)?;
    if input.dtype() == DType::Bool && src.dtype() == DType::Bool && reduce != "mean" {
        let either = if matches!(reduce, "sum" | "amax") { "amax" } else { reduce };
        let [input, src] = [input, src].map(|x| x.to_dtype(DType::U8));
        return scatter_reduce(&input?, dim, index, &src?, either, include_self)?.to_dtype(DType::Bool);
    }
    if input.rank() == 0 || index.elem_count() == 0 {
        let call = |x: &Tensor, index: &Tensor, src: &Tensor| scatter_reduce(x, 0, index, src, reduce, include_self);
        return along_dimension(input, index, src, call);
    }
    let op = |how| ScatterReduce { dim: place, how };
    let base = |neutral: Scalar| match include_self {
        true => Ok(input.clone()),
        false => f::scatter_value(input, dim, index, neutral, None),
    };
    let (low, high) = f::limits(input.dtype());
    match reduce {
        "sum" => f::scatter_add(&base(Scalar::Int(0))?, dim, index, src),
        "mean" => {
            let sum = f::scatter_add(&base(Scalar::Int(0))?, dim, index, src)?;
            let ones = if include_self { input.ones_like()? } else { input.zeros_like()? };
            let used = index.dims().iter().enumerate().try_fold(src.ones_like()?, |s, (d, &n)| s.narrow(d, 0, n))?;
            let count = f::scatter_add(&ones.detach(), dim, index, &used.detach())?;
            let count = count.maximum(&count.ones_like()?)?;
            if sum.dtype().is_int() { f::floor_divide((&sum).into(), (&count).into()) } else { sum.div(&count) }
        }
        "prod" => dispatch_to(&op(Combine::Multiply), &[&base(Scalar::Int(1))?, index, src], out),
        "amax" => dispatch_to(&op(Combine::Greatest), &[&base(low)?, index, src], out),
        "amin" => dispatch_to(&op(Combine::Least), &[&base(high)?, index, src], out),
        other => Err(Error::value(OP, "reduce", other, "\"sum\", \"prod\", \"mean\", \"amax\" or \"amin\"")),
    }
}

fn samples() -> Vec<Sample> {
    let sample = |how, combine: fn(f64, f64) -> f64| {
        let inputs =
            vec![Array::spread(&[3, 4], -2.0..2.0), Array::indices(&[5, 3], 3), Array::spread(&[5, 4], -1.9..2.3)];
        Sample::new(ScatterReduce { dim: 0, how }, inputs, move |x| {
            let mut out = x[0].clone();
            each_index(&[5, 3], |i| {
                let at = &mut out.data[x[1].at(i) as usize * 4 + i[1]];
                *at = combine(*at, x[2].at(i));
            });
            out
        })
    };
    vec![
        sample(Combine::Multiply, |a, b| a * b),
        sample(Combine::Greatest, |a, b| if a >= b || a.is_nan() { a } else { b }),
        sample(Combine::Least, |a, b| if a <= b || a.is_nan() { a } else { b }),
    ]
}
