//! `max_pool2d(x, kernel_size)`: the greatest element under each position of a window; the operator is for one to three dimensions.

use opforge_tile::forms::{Windowed, Windows};

use super::avg_pool2d::{PoolCase, pool_cases, whole_planes};
use crate::family::pool::{Pooling, one, plane_axes, with_lengths};
use crate::family::window::{PerDim, spatial_lengths};
use crate::ops::prelude::*;
use crate::ops::reduce::amax::Extremum;

/// The operator of max pooling over the last `spatial` dimensions. Its outputs are the greatest elements and, if asked for, in i64, their places
/// among the elements of those dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct MaxPool {
    /// The windows.
    pub windows: Windows,
    /// The dimensions they move along.
    pub spatial: usize,
    /// The result's lengths along them, missing ones first and 1.
    pub lengths: PerDim,
    /// Whether the places are an output. Gradients need them: without, they are found again.
    pub places: bool,
}

impl MaxPool {
    fn of(pooling: &Pooling, input: &Tensor, places: bool) -> Result<Self> {
        let &Pooling { windows, spatial, .. } = pooling;
        Ok(MaxPool { windows, spatial, lengths: pooling.lengths(input)?, places })
    }
}

impl Operator for MaxPool {
    fn name(&self) -> &'static str {
        "max_pool"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("max_pool", inputs, 1)?;
        let shape = with_lengths("max_pool", inputs[0], self.spatial, &self.lengths)?;
        let mut outputs = one(Meta::contiguous(inputs[0].dtype, shape.clone()));
        outputs.extend(self.places.then(|| Meta::contiguous(DType::I64, shape)));
        Ok(outputs)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        plane_axes(inputs, self.spatial, 1 + usize::from(self.places))
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        // Maxima of truths are no pooling.
        let is_maximum = !self.places && inputs[0].dtype != DType::Bool;
        if let (true, Some(axes)) = (is_maximum, whole_planes(self.windows, self.spatial, inputs[0], outputs[0])) {
            return Ok(Lowering::Reduce(Reduce::numbers(Extremum::<true>, &axes)));
        }
        Ok(Lowering::Windowed(Windowed::Greatest { windows: self.windows, spatial: self.spatial }))
    }

    fn differentiable_outputs(&self) -> u32 {
        0b1
    }

    fn saves(&self) -> Saves {
        if self.places { Saves { inputs: 0, outputs: 0b10 } } else { Saves::INPUTS }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let x = ctx.input_meta(0);
        let lengths = spatial_lengths(&x.dims()[x.rank() - self.spatial..]);
        let places = match self.places {
            true => ctx.output(1)?,
            false => dispatch(&MaxPool { places: true, ..self.clone() }, &[&ctx.input(0)?])?.swap_remove(1),
        };
        let op = MaxPoolGradient { windows: self.windows, spatial: self.spatial, lengths };
        Ok(smallvec![Some(dispatch1(&op, &[&ctx.grad(0)?, &places])?)])
    }
}

/// Adds the first input up at the places, among the elements of the last dimensions, that the second one tells: each under its element's window.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct MaxPoolGradient {
    windows: Windows,
    spatial: usize,
    lengths: PerDim,
}

impl Plain for MaxPoolGradient {
    const NAME: &'static str = "max_pool_grad";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves::inputs([1]);

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let shape = with_lengths(Self::NAME, inputs[0], self.spatial, &self.lengths)?;
        Ok(one(Meta::contiguous(inputs[0].dtype, shape)))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        plane_axes(inputs, self.spatial, 1)
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Windowed(Windowed::Spread { windows: self.windows, spatial: self.spatial })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (grad, places) = (ctx.grad(0)?, ctx.input(1)?);
        let flat = |t: &Tensor| {
            let (lead, plane) = t.dims().split_at(t.rank() - self.spatial);
            t.reshape([lead, &[plane.iter().product::<usize>()]].concat())
        };
        let dim = grad.rank() - self.spatial;
        Ok(smallvec![Some(flat(&grad)?.gather(&flat(&places)?, dim)?.reshape(places.shape())?), None])
    }
}

/// The greatest elements under sliding or adaptive windows, and their places.
#[track_caller]
pub(crate) fn max_pool(pooling: &Pooling, input: &Tensor) -> Result<(Tensor, Tensor)> {
    outputs(&MaxPool::of(pooling, input, true)?, &[input]).map(Into::into)
}

/// The greatest elements alone: their places are found where a gradient will need them.
#[track_caller]
pub(crate) fn max_pool_values(pooling: &Pooling, input: &Tensor) -> Result<Tensor> {
    if is_grad_enabled() && input.requires_grad() {
        return Ok(max_pool(pooling, input)?.0);
    }
    dispatch1(&MaxPool::of(pooling, input, false)?, &[input])
}

/// As [`max_pool_values`], or with the places too.
#[track_caller]
pub(crate) fn max_pool_returning(pooling: &Pooling, input: &Tensor, places: bool) -> Result<Value> {
    Ok(if places { max_pool(pooling, input)?.into() } else { max_pool_values(pooling, input)?.into() })
}

/// The greatest element under each position of a window that moves over the last two dimensions of `[batch, channels, height, width]` (the
/// batch may be missing). Each argument of windows is one number, or one for each of the two dimensions; `stride` is the kernel's size
/// unless given. `padding` is never the greatest. With `ceil_mode` a last window may begin in the input and end beyond it. NaN counts as
/// greatest.
///
/// # Errors
/// For a kernel larger than the padded input, a padding of more than half the kernel, and strides and dilations below 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 5.0, 2.0], [3.0, 4.0, 9.0]]], &Device::Cpu)?;
/// let y = opforge::functional::max_pool2d(&x, &[2], Some(&[1]), &[0], &[1], false)?;
/// assert_eq!(y.to_vec3::<f32>()?, [[[5.0, 9.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(stride = None, padding = &[0], dilation = &[1], ceil_mode = false)]
#[python(torch)]
#[operator(DTypes::NUMERIC, samples, MaxPool, MaxPoolGradient)]
pub fn max_pool2d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
) -> Result<Tensor> {
    max_pool_values(&Pooling::new(OP, 2, kernel_size, stride, [padding, dilation], ceil_mode)?, input)
}

fn samples() -> Vec<Sample> {
    let take = |best: Option<(f64, usize)>, x: f64, at: usize| match best {
        Some((b, _)) if !(x > b || x.is_nan()) => best,
        _ => Some((x, at)),
    };
    let sample = |case: PoolCase, places: bool| {
        let op = MaxPool { windows: case.windows(), spatial: case.spatial(), lengths: case.lengths(), places };
        Sample::many(op, vec![Array::spread(case.x, -2.0..2.0)], move |x| {
            let best: Vec<(f64, usize)> = case.outputs(|plane, positions| {
                let at = |best, &p: &usize| take(best, x[0].data[plane * case.plane() + p], p);
                positions.iter().fold(None, at).expect("a window with elements")
            });
            let mut outputs = vec![Array::new(case.y, best.iter().map(|b| b.0).collect())];
            outputs.extend(places.then(|| Array::new(case.y, best.iter().map(|b| b.1 as f64).collect())));
            outputs
        })
    };
    pool_cases().into_iter().flat_map(|case| [sample(case, true), sample(case, false)]).collect()
}
