//! `softmax(x, dim) = e^x / sum(e^x)` along a dimension.

use opforge_cpu::norm;
use opforge_tile::{Softmax as Kind, SoftmaxSlope};

use crate::arguments::with_dimension;
use crate::ops::prelude::*;
use crate::ops::reduce::var::widened;

/// The operator of [`softmax`] and of its logarithm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Softmax {
    /// The dimension whose elements then sum to 1.
    pub dim: usize,
    /// Plain or logarithm.
    pub kind: Kind,
}

impl Operator for Softmax {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Plain => "softmax",
            Kind::Log => "log_softmax",
        }
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        check_dim(self.name(), inputs[0], self.dim)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        same_axes(inputs[0], &[self.dim])
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        let columns = norm::softmax_of_columns(self.name(), inputs[0], self.dim, self.kind, outputs[0])?;
        Ok(Lowering::Rows(Rows::new(self.kind, self.dim).with_kernel(columns)))
    }

    fn decompose(&self, inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        let composed = || {
            let x = widened(inputs[0])?;
            let shifted = x.broadcast_sub(&x.max_keepdim(self.dim)?)?;
            let total = shifted.exp()?.sum_keepdim(self.dim)?;
            let y = match self.kind {
                Kind::Plain => shifted.exp()?.broadcast_div(&total)?,
                Kind::Log => shifted.broadcast_sub(&total.log()?)?,
            };
            Ok(smallvec![y.to_dtype(inputs[0].dtype())?])
        };
        Some(composed())
    }

    fn saves(&self) -> Saves {
        Saves::OUTPUTS
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let op = SoftmaxGrad { dim: self.dim, kind: self.kind };
        Ok(smallvec![Some(dispatch1(&op, &[&ctx.output(0)?, &ctx.grad(0)?])?)])
    }
}

/// The gradient of softmax from its output `y` and the output's gradient `g`: `y (g - sum(y g))`, or `g - e^y sum(g)` for the logarithm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct SoftmaxGrad {
    dim: usize,
    kind: Kind,
}

impl Plain for SoftmaxGrad {
    const NAME: &'static str = "softmax_grad";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves::INPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        check_dim(Self::NAME, inputs[0], self.dim)?;
        ensure(inputs[0].shape() == inputs[1].shape(), || {
            Error::shapes(Self::NAME, inputs[0].shape(), inputs[1].shape(), "equal shapes")
        })?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank()).with_roles(&[self.dim], Role::Whole)
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Rows(Rows::new(SoftmaxSlope(self.kind), self.dim))
    }

    fn decompose(&self, inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        let composed = || {
            let (y, g) = (widened(inputs[0])?, widened(inputs[1])?);
            let slope = match self.kind {
                Kind::Plain => y.mul(&g.broadcast_sub(&y.mul(&g)?.sum_keepdim(self.dim)?)?)?,
                Kind::Log => g.sub(&y.exp()?.broadcast_mul(&g.sum_keepdim(self.dim)?)?)?,
            };
            Ok(smallvec![slope.to_dtype(inputs[0].dtype())?])
        };
        Some(composed())
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (y, g, upper) = (ctx.input(0)?, ctx.input(1)?, ctx.grad(0)?);
        let total = |t: &Tensor| t.sum_keepdim(self.dim)?.broadcast_as(y.shape());
        Ok(match self.kind {
            Kind::Plain => {
                let by_y = ctx.when(0, || {
                    let inner = upper.mul(&g.sub(&total(&y.mul(&g)?)?)?)?;
                    inner.sub(&g.mul(&total(&upper.mul(&y)?)?)?)
                })?;
                smallvec![by_y, ctx.when(1, || dispatch1(self, &[&y, &upper]))?]
            }
            Kind::Log => {
                let p = y.exp()?;
                let by_y = ctx.when(0, || upper.mul(&p)?.mul(&total(&g)?)?.neg())?;
                smallvec![by_y, ctx.when(1, || upper.sub(&total(&upper.mul(&p)?)?))?]
            }
        })
    }
}

/// Either form, for the functions of both files; a scalar counts as one element.
#[track_caller]
pub(super) fn apply(name: &'static str, kind: Kind, input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.to_dtype(dtype))?;
    let dim = normalize_dim(dim, input.rank(), name)?;
    with_dimension(&input, |input| dispatch1(&Softmax { dim, kind }, &[input]))
}

/// `e^x / sum(e^x)` along `dim`, shifted by the maximum so that nothing overflows. A row of nothing but minus infinity gives NaN.
///
/// Takes a floating-point tensor (or converts to `dtype` first); the result has the same shape.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1000f32, 1000.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::softmax(&x, -1, None)?.to_vec1::<f32>()?, [0.5, 0.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None)]
#[python(torch, method, nn)]
#[operator(DTypes::FLOATS, samples, Softmax, SoftmaxGrad)]
pub fn softmax(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    apply(OP, Kind::Plain, input, dim, dtype)
}

fn samples() -> Vec<Sample> {
    softmax_samples(Kind::Plain, |x, total| x.exp() / total)
}

/// Samples along every kind of dimension; `f` gets an element, shifted by its row's greatest, and the row's sum of exponentials.
pub(super) fn softmax_samples(kind: Kind, f: fn(f64, f64) -> f64) -> Vec<Sample> {
    let sample = |shape: &[usize], dim: usize| {
        let shape = shape.to_vec();
        Sample::new(Softmax { dim, kind }, vec![Array::spread(&shape, -3.0..3.0)], move |x| {
            let along = Axes::of(&[dim]);
            let greatest =
                reduce_array(&x[0], along, true, |row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            let off = Array::from_fn(&x[0].shape, |i| x[0].at(i) - greatest.at_broadcast(i));
            let totals = reduce_array(&off, along, true, |row| row.iter().map(|x| x.exp()).sum());
            Array::from_fn(&off.shape, |i| f(off.at(i), totals.at_broadcast(i)))
        })
    };
    vec![sample(&[5], 0), sample(&[3, 4], 1), sample(&[3, 4], 0), sample(&[2, 3, 4], 1), sample(&[2, 20], 1)]
}
