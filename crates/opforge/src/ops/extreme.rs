//! What the operators of greatest and least elements share.

use opforge_tile::forms::{self as form, Extreme, Running};
use smallvec::smallvec;

use crate::arguments::Rules;
use crate::declaration::{Array, Sample};
use crate::dispatch::dispatch1;
use crate::family::{
    Axes, Comparison, Pair, ReduceOp, Reduced, Reduction, Side, check_dim, compare, reduce_array, same_axes,
};
use crate::functional as f;
use crate::operator::{Attributes, AxisMap, Lowering, Metas, Operator, arity};
use crate::{DType, Meta, Result, Tensor};

/// The gradient of the greatest or least element: elements that tie share it equally. With `nan`, NaN ties with NaN; else one
/// makes all gradients NaN.
pub(crate) fn shared_by_ties(of: &Reduced<'_, '_>, nan: bool) -> Result<Tensor> {
    let x = of.input()?;
    let equal = x.eq(&of.output()?)?;
    // NaN wins: what is NaN is the result.
    let ties = if nan { f::logical_or((&equal).into(), (&f::isnan(&x)?).into())? } else { equal };
    let ties = ties.to_dtype(x.dtype())?;
    let share = ties.div(&of.total(&ties)?)?;
    // Not a product with 0, which an infinite gradient would make NaN.
    let grad = of.grad()?.broadcast_mul(&share)?;
    share.eq(0.0)?.where_cond(&grad.zeros_like()?, &grad)
}

/// The gradient of the greater or lesser of two: none where this side loses, half of it where both are equal. Where one is NaN, both have it.
pub(crate) fn of_winner(pair: &Pair<'_, '_>, side: Side, wins: impl Comparison) -> Result<Tensor> {
    let grad = pair.grad()?;
    let (own, other) = match side {
        Side::Left => (pair.lhs()?, pair.rhs()?),
        Side::Right => (pair.rhs()?, pair.lhs()?),
    };
    let lost = compare(wins, (&other).into(), (&own).into(), Rules::BROADCAST)?;
    lost.where_cond(&grad.zeros_like()?, &halved_by_ties(&own, &other, &grad)?)
}

fn halved_by_ties(own: &Tensor, other: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let tied = compare(crate::ops::pointwise::eq::Eq, own.into(), other.into(), Rules::BROADCAST)?;
    tied.where_cond(&grad.affine(0.5, 0.0)?, grad)
}

/// The gradient of the greater or lesser of two where numbers win against NaN: half of it where both are equal, the left one's where both are NaN.
pub(crate) fn of_number(pair: &Pair<'_, '_>, side: Side, wins_or_ties: impl Comparison) -> Result<Tensor> {
    let (a, b, grad) = (pair.lhs()?, pair.rhs()?, pair.grad()?);
    let left = compare(wins_or_ties, (&a).into(), (&b).into(), Rules::BROADCAST)?;
    let left = f::logical_or((&left).into(), (&f::isnan(&b)?).into())?;
    let tied = compare(crate::ops::pointwise::eq::Eq, (&a).into(), (&b).into(), Rules::BROADCAST)?;
    let chosen =
        if side == Side::Left { left } else { f::logical_or((&f::logical_not(&left)?).into(), (&tied).into())? };
    chosen.where_cond(&halved_by_ties(&a, &b, &grad)?, &grad.zeros_like()?)
}

/// The place of the greatest or least along `dim`, or without it in the flattened tensor.
#[track_caller]
pub(crate) fn arg_over<R: Reduction>(reduction: R, input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    if let (Some(dim), 1..) = (dim, input.rank()) {
        let axes = Axes::of(&[opforge_core::normalize_dim(dim, input.rank(), R::NAME)?]);
        return dispatch1(&ReduceOp { reduction, axes, keepdim }, &[input]);
    }
    let flat = input.flatten_all()?;
    let index = dispatch1(&ReduceOp { reduction, axes: Axes::of(&[0]), keepdim: false }, &[&flat])?;
    if keepdim { index.reshape(Axes::all(input.rank()).reduced(input.shape(), true)) } else { Ok(index) }
}

/// Samples of a search for the first element that wins against all others.
pub(crate) fn arg_samples<R: Reduction>(reduction: R, wins: fn(f64, f64) -> bool) -> Vec<Sample> {
    let sample = |shape: &[usize], dim: usize, keepdim: bool| {
        let axes = Axes::of(&[dim]);
        let op = ReduceOp { reduction, axes, keepdim };
        let better = move |a: f64, b: f64| wins(a, b) || a.is_nan() && !b.is_nan();
        let first =
            move |x: &[f64]| (1..x.len()).fold(0, |best, i| if better(x[i], x[best]) { i } else { best }) as f64;
        let inputs = vec![Array::spread(shape, 0.0..5.0).map(f64::floor)];
        Sample::new(op, inputs, move |x| reduce_array(&x[0], axes, keepdim, first)).rough()
    };
    vec![sample(&[3, 4], 1, false), sample(&[2, 3, 4], 1, true), sample(&[7], 0, false), sample(&[5, 3], 0, false)]
}

/// The operator of `cummax` and `cummin`: the places only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct RunningArg {
    /// What is sought.
    pub extreme: Extreme,
    /// The dimension.
    pub dim: usize,
}

impl Operator for RunningArg {
    fn name(&self) -> &'static str {
        match self.extreme {
            Extreme::Max => "cummax",
            Extreme::Min => "cummin",
        }
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        let x = inputs[0];
        check_dim(self.name(), x, self.dim)?;
        Ok(smallvec![Meta::contiguous(DType::I64, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        same_axes(inputs[0], &[self.dim])
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Scan(form::Scan { running: Running::Place(self.extreme), axis: self.dim }))
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// The greatest or least of each element and all before it, and where they are.
#[track_caller]
pub(crate) fn running_extreme(extreme: Extreme, input: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    let name = RunningArg { extreme, dim: 0 }.name();
    let axis = opforge_core::normalize_dim(dim, input.rank(), name)?;
    if input.rank() == 0 {
        return Ok((input.copy()?, Tensor::zeros((), DType::I64, input.device())?));
    }
    let indices = dispatch1(&RunningArg { extreme, dim: axis }, &[input])?;
    Ok((f::gather(input, dim, &indices)?, indices))
}

/// Samples of a running search, in which the last that ties wins.
pub(crate) fn running_samples(extreme: Extreme, wins: fn(f64, f64) -> bool) -> Vec<Sample> {
    let sample = |dim: usize, shape: &'static [usize]| {
        let op = RunningArg { extreme, dim };
        let reference = move |x: &Array| {
            Array::from_fn(shape, |i| {
                let at = |n: usize| {
                    let mut index = i.to_vec();
                    index[dim] = n;
                    x.at(&index)
                };
                let better = |best: usize, n: usize| at(n).is_nan() || wins(at(n), at(best));
                (1..=i[dim]).fold(0, |best, n| if better(best, n) { n } else { best }) as f64
            })
        };
        Sample::new(op, vec![Array::spread(shape, 0.0..5.0).map(f64::floor)], move |x| reference(&x[0])).rough()
    };
    vec![sample(0, &[7]), sample(0, &[5, 3]), sample(1, &[2, 4, 3])]
}
