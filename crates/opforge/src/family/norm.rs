//! What the norms over the last dimension share.

use smallvec::{SmallVec, smallvec};

use opforge_cpu::norm;

use super::ensure;
use super::pairs::promote_all;
use crate::arguments::size_to_shape;
use crate::autograd::Backward;
use crate::dispatch::dispatch;
use crate::operator::{Axis, AxisMap, Grads, Metas, Operator, Role, arity_within};
use crate::{DType, Error, Meta, Result, Shape, Tensor};

/// A norm's inputs, checked: `x` of at least one dimension, then parameters as long as its last one.
pub(crate) struct NormInputs<'a> {
    pub x: &'a Meta,
    /// The shape without the last dimension.
    pub rows: Shape,
}

impl<'a> NormInputs<'a> {
    pub fn check(op: &'static str, inputs: &[&'a Meta], max_params: usize) -> Result<Self> {
        let (Some(&x), true) = (inputs.first(), inputs.len() <= 1 + max_params) else {
            return Err(Error::value(op, "inputs", inputs.len(), format!("1 to {} tensors", 1 + max_params)));
        };
        let Some((last, rows)) = x.dims().split_last() else {
            return Err(crate::arguments::no_dims(op));
        };
        for param in &inputs[1..] {
            if param.dims() != [*last] {
                return Err(Error::shape(op, "weight or bias", format!("{:?}", param.shape()), format!("[{last}]")));
            }
            if param.dtype != x.dtype {
                return Err(Error::dtypes(op, x.dtype, param.dtype));
            }
        }
        Ok(NormInputs { x, rows: rows.into() })
    }
}

/// The axis map: rows are independent, the last dimension is needed whole.
pub(crate) fn axes(inputs: &[&Meta], outputs: usize) -> AxisMap {
    let rank = inputs[0].rank();
    let names: SmallVec<[Option<Axis>; 6]> = (0..rank).map(|d| Some(d as Axis)).collect();
    let rows: SmallVec<[Option<Axis>; 6]> = names[..rank - 1].into();
    let mut map = AxisMap {
        inputs: vec![names.clone()],
        outputs: vec![names.clone()],
        roles: SmallVec::from_elem(Role::Map, rank),
    };
    map.inputs.extend((1..inputs.len()).map(|_| smallvec![names[rank - 1]]));
    map.outputs.extend((1..outputs).map(|_| rows.clone()));
    map.with_roles(&[rank - 1], Role::Whole)
}

/// The dtype in which a norm is computed whose parameters are of other floats than its input, as mixed precision has it: that to which all promote.
/// None where all agree, or one is of no floats.
pub(crate) fn common_float(op: &'static str, input: &Tensor, params: [Option<&Tensor>; 2]) -> Result<Option<DType>> {
    let dtypes = params.into_iter().flatten().chain([input]).map(Tensor::dtype);
    if dtypes.clone().all(|dtype| dtype == input.dtype()) || !dtypes.clone().all(DType::is_float) {
        return Ok(None);
    }
    promote_all(op, dtypes)
}

/// The normalised dimensions joined into one, of the input and of its parameters.
#[track_caller]
pub(crate) fn flatten(
    op: &'static str,
    input: &Tensor,
    normalized: &[i64],
    [weight, bias]: [Option<&Tensor>; 2],
) -> Result<SmallVec<[Tensor; 3]>> {
    let shape = size_to_shape(op, normalized)?;
    if shape.rank() == 0 || !input.dims().ends_with(shape.dims()) {
        let accepted = "a normalized_shape that the input's shape ends in";
        return Err(Error::shapes(op, input.shape(), &shape, accepted));
    }
    let ones = match bias {
        Some(bias) if weight.is_none() => Some(bias.ones_like()?),
        _ => None,
    };
    let lead = &input.dims()[..input.rank() - shape.rank()];
    let joined: Shape = lead.iter().copied().chain([shape.elem_count()]).collect();
    let mut inputs: SmallVec<[Tensor; 3]> = smallvec![input.reshape(joined)?];
    for param in [weight.or(ones.as_ref()), bias].into_iter().flatten() {
        if param.shape() != &shape {
            return Err(Error::shape(op, "weight or bias", format!("{:?}", param.shape()), format!("{shape:?}")));
        }
        inputs.push(param.flatten_all()?.contiguous()?);
    }
    Ok(inputs)
}

/// What a norm's gradient operator computes: the gradient of `x`, then those of parameters summed over chunks of rows.
/// `statistics`: the numbers of each row that the norm computes besides its result; it has as many parameters at most.
pub(crate) fn grad_metas(op: &'static str, inputs: &[&Meta], statistics: usize, sums: usize) -> Result<Metas> {
    arity_within(op, inputs, 2 + statistics..=3 + statistics, (1, 1))?;
    ensure(sums <= statistics, || Error::value(op, "sums", sums, format!("at most {statistics}")))?;
    let (x, sum) = (inputs[0], norm::parameter_sums(inputs[0]));
    Ok([Meta::contiguous(x.dtype, x.shape())].into_iter().chain(std::iter::repeat_n(sum, sums)).collect())
}

/// The axis map of that: rows are independent, and summed over for parameters, whatever rows a chunk has; the last dimension is needed whole.
/// `inputs` are `x`, its gradient, `statistics` of rows, and perhaps the weight.
pub(crate) fn grad_axes(inputs: &[&Meta], statistics: usize, outputs: usize) -> AxisMap {
    let last = (inputs[0].rank() - 1) as Axis;
    let full: SmallVec<[Option<Axis>; 6]> = (0..=last).map(Some).collect();
    let names = |i: usize| match i {
        0 | 1 => full.clone(),
        _ if i < 2 + statistics => full[..usize::from(last)].into(),
        _ => smallvec![Some(last)],
    };
    let sums = std::iter::repeat_n(smallvec![None, Some(last)], outputs - 1);
    AxisMap {
        inputs: (0..inputs.len()).map(names).collect(),
        outputs: [full.clone()].into_iter().chain(sums).collect(),
        roles: SmallVec::from_elem(Role::Sum, inputs[0].rank()),
    }
    .with_roles(&[last.into()], Role::Whole)
}

/// The gradients of a norm's inputs by its gradient operator.
#[track_caller]
pub(crate) fn row_grads(ctx: &Backward<'_>, op: &impl Operator, inputs: &[&Tensor]) -> Result<Grads> {
    let mut outputs = dispatch(op, inputs)?.into_iter();
    let mut grads: Grads = outputs.next().map(Some).into_iter().collect();
    for (i, sums) in outputs.enumerate() {
        grads.push(ctx.when(1 + i, || sums.sum(0)?.to_dtype(inputs[0].dtype()))?);
    }
    Ok(grads)
}

/// Sums over all dimensions but the last.
#[track_caller]
fn sum_to_last(t: &Tensor) -> Result<Tensor> {
    t.sum((0..t.rank() - 1).collect::<Vec<_>>())
}

/// A norm's gradients made of operators, so that they can be differentiated again: with `h = offset rstd` and `g = grad weight`, x gets
/// `rstd (g - mean(g) - h mean(g h))`, without `mean(g)` where the norm does not centre.
#[track_caller]
pub(crate) fn composed_grad(
    ctx: &Backward<'_>,
    offset: &Tensor,
    rstd: &Tensor,
    weight: Option<&Tensor>,
    centered: bool,
) -> Result<Grads> {
    let grad = ctx.grad(0)?;
    let normal = offset.broadcast_mul(rstd)?;
    let scaled = weight.map_or_else(|| Ok(grad.clone()), |w| grad.broadcast_mul(w))?;
    let mean = |t: &Tensor| t.mean_keepdim(t.rank() - 1);
    let mut inner = scaled.sub(&normal.broadcast_mul(&mean(&scaled.mul(&normal)?)?)?)?;
    if centered {
        inner = inner.broadcast_sub(&mean(&scaled)?)?;
    }
    let mut grads: Grads = smallvec![Some(inner.broadcast_mul(rstd)?)];
    if ctx.input_count() > 1 {
        grads.push(Some(sum_to_last(&normal.mul(&grad)?)?));
    }
    if ctx.input_count() > 2 {
        grads.push(Some(sum_to_last(&grad)?));
    }
    Ok(grads)
}
