//! Carrying out calls on global tensors.

use opforge::operator::{Call, Tensors};
use opforge::ops::pointwise::to_device::ToDevice;
use opforge::{Device, Result};
use smallvec::smallvec;

use super::operators::{Enter, Leave, Redistribute};
use super::{compute, convert, view};
use crate::Placement;

/// Carries out a call that has to do with a tensor of this placement.
pub(super) fn carry_out(call: &Call<'_>, placement: &Placement) -> Result<Tensors> {
    let op = call.op.as_any();
    if let Some(enter) = op.downcast_ref::<Enter>() {
        return Ok(smallvec![convert::enter(call, enter)?]);
    }
    if let Some(leave) = op.downcast_ref::<Leave>() {
        return Ok(smallvec![convert::leave(call, leave)?]);
    }
    if let Some(redistribute) = op.downcast_ref::<Redistribute>() {
        return Ok(smallvec![convert::box_to(call, &redistribute.to)?]);
    }
    if let Some(ToDevice { from, to }) = op.downcast_ref::<ToDevice>()
        && from != to
    {
        return Ok(smallvec![moved(call, *from, *to)?]);
    }
    if let [input] = call.inputs
        && let Some(layout) = call.op.view(input.layout())
    {
        return view::view(call, input, layout?);
    }
    compute::compute(call, placement)
}

/// A tensor of another device: to a placement, broadcast as its first rank has it; from one, whole on every rank.
fn moved(call: &Call<'_>, from: Device, to: Device) -> Result<opforge::Tensor> {
    match (super::placement_of(from), super::placement_of(to)) {
        (_, Some(placement)) if from.is_cpu() => convert::broadcast(call, &placement),
        (Some(_), Some(placement)) => convert::box_to(call, &super::read::everywhere(&placement)?),
        _ => convert::whole(call, to),
    }
}
