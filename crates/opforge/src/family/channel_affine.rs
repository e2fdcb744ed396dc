//! Scaling and shifting channels by given numbers: what norms do outside of training.

use opforge_tile::forms::Normalize;
use smallvec::smallvec;

use crate::autograd::Backward;
use crate::dispatch::dispatch1;
use crate::operator::{Attributes, AxisMap, Grads, Lowering, Metas, Operator, Saves, arity_within};
use crate::{Meta, Result, Tensor};

/// `(x - center) scale + shift` of each channel of `x [batch, channels, ..]`; the others, one number a channel, are in the statistics' dtype.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub(crate) struct ChannelAffine;

impl Operator for ChannelAffine {
    fn name(&self) -> &'static str {
        "channel_affine"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity_within("channel_affine", inputs, 4..=4, (1, 2))?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let full: String = "nc".chars().chain('o'..).take(inputs[0].rank()).collect();
        AxisMap::letters(&format!("{full},c,c,c->{full}"), &[])
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Normalize(Normalize::Channels))
    }

    fn saves(&self) -> Saves {
        Saves::inputs([0, 1, 2])
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (grad, center, scale) = (ctx.grad(0)?, ctx.input(1)?, ctx.input(2)?);
        let zero = scale.zeros_like()?;
        let others: Vec<usize> = (0..grad.rank()).filter(|&d| d != 1).collect();
        let summed = |t: Tensor| t.to_dtype(scale.dtype())?.sum(others.clone());
        let by_x = ctx.when(0, || channel_affine(&grad, [&zero, &scale, &zero]))?;
        let by_center = ctx.when(1, || summed(grad.clone())?.mul(&scale)?.neg())?;
        let by_scale = ctx.when(2, || {
            let one = scale.ones_like()?;
            summed(grad.mul(&channel_affine(&ctx.input(0)?, [&center, &one, &zero])?)?)
        })?;
        Ok(smallvec![by_x, by_center, by_scale, ctx.when(3, || summed(grad.clone()))?])
    }
}

/// `(x - center) scale + shift` of each channel, the second dimension of `x`; the others, one number a channel, are in the statistics' dtype.
#[track_caller]
pub(crate) fn channel_affine(x: &Tensor, [center, scale, shift]: [&Tensor; 3]) -> Result<Tensor> {
    dispatch1(&ChannelAffine, &[x, center, scale, shift])
}
