//! Operators on parts.

use std::rc::Rc;
use std::sync::Arc;

use opforge::dispatch::{Prepared, check_destination};
use opforge::operator::{Call, Metas, Tensors};
use opforge::{Device, Meta, Result, Tensor, no_grad};

use super::World;
use super::boxing::{boxed, nothing};
use super::content::{Content, Part};
use super::read::part_of;
use super::signature::{self, Signature};
use super::view::write;
use crate::{Placement, Sbp};

/// Carries out a call that computes.
pub(super) fn compute(call: &Call<'_>, placement: &Placement) -> Result<Tensors> {
    let metas: Vec<&Meta> = call.inputs.iter().map(|input| input.meta()).collect();
    let outputs = call.op.infer(&metas)?;
    check_destination(call, &outputs)?;
    let world = match call.inputs.iter().chain(call.outputs.unwrap_or_default()).find_map(|t| Content::of(t)) {
        Some(content) => content.world.clone(),
        None => World::current()?,
    };
    let parts = call.inputs.iter().map(|input| part_of(input, call.at)).collect::<Result<Vec<_>>>()?;
    let signature = signature_of(call, &world, &metas, &parts, &outputs, placement)?;
    if signature.gathers
        && let Some(composed) = no_grad(|| call.op.decompose(call.inputs))
    {
        return finish(call, composed?);
    }
    let locals = metas.iter().zip(&parts).zip(&signature.inputs);
    let locals = locals.map(|((meta, part), to)| boxed(&world, meta, part, to, call.at)).collect::<Result<Vec<_>>>()?;
    let made = match placement.position(world.rank()).zip(locals.into_iter().collect::<Option<Vec<Tensor>>>()) {
        Some((position, locals)) => run(call, &signature, &locals, &outputs, position)?.into_iter().map(Some).collect(),
        None => vec![None; outputs.len()],
    };
    let made = made.into_iter().zip(&signature.outputs);
    let made = made.map(|(local, distribution)| Part { distribution: distribution.clone(), local });
    match call.outputs {
        None => outputs.iter().zip(made).map(|(meta, part)| Content::tensor(world.clone(), meta, part)).collect(),
        Some(given) => {
            given.iter().zip(made).try_for_each(|(given, part)| write(given, &part, call.at))?;
            given.iter().for_each(|given| given.bump_version());
            Ok(given.iter().map(|given| (*given).clone()).collect())
        }
    }
}

fn signature_of(
    call: &Call<'_>,
    world: &World,
    inputs: &[&Meta],
    parts: &[Part],
    outputs: &Metas,
    placement: &Placement,
) -> Result<Rc<Signature>> {
    let given = call.outputs.map(|given| given.iter().map(|given| part_of(given, call.at)).collect::<Result<Vec<_>>>());
    let given = given.transpose()?;
    let to: Option<Vec<_>> = given.as_ref().map(|given| given.iter().map(|part| &part.distribution).collect());
    if parts.is_empty() && to.is_none() {
        return signature::on_placement(world, call.op, outputs, placement);
    }
    let from: Vec<&Arc<_>> = parts.iter().map(|part| &part.distribution).collect();
    signature::of(world, call.op, inputs, &from, outputs, to.as_deref())
}

/// The results of a composition, where the call wants them.
fn finish(call: &Call<'_>, made: Tensors) -> Result<Tensors> {
    let Some(given) = call.outputs else { return Ok(made) };
    no_grad(|| made.iter().zip(given).try_for_each(|(made, given)| given.copy_from(made)))?;
    Ok(given.iter().map(|given| (*given).clone()).collect())
}

/// Runs the operator on this rank's parts.
fn run(
    call: &Call<'_>,
    signature: &Signature,
    locals: &[Tensor],
    outputs: &Metas,
    position: usize,
) -> Result<Vec<Tensor>> {
    let part = |(meta, distribution): (&Meta, &Arc<crate::Distribution>)| {
        Meta::contiguous(meta.dtype, distribution.part(meta.shape(), position).shape())
    };
    let metas: Vec<Meta> = outputs.iter().zip(&signature.outputs).map(part).collect();
    let lacks_elements = |(local, input): (&Tensor, &&Tensor)| local.elem_count() == 0 && input.elem_count() > 0;
    let lacking = locals.iter().zip(call.inputs).any(lacks_elements);
    let gives_none = metas.iter().zip(outputs).all(|(part, whole)| part.elem_count() == 0 && whole.elem_count() > 0);
    let mut filled: Vec<Tensor>;
    let mut inputs: Vec<&Tensor> = locals.iter().collect();
    if lacking && !gives_none && signature.has_summands() {
        filled = locals.to_vec();
        for (local, _) in filled.iter_mut().zip(call.inputs).filter(|(local, input)| lacks_elements((local, input))) {
            *local = one_zero(local)?;
        }
        inputs = filled.iter().collect();
    } else if lacking || gives_none {
        return metas.iter().zip(&signature.outputs).map(|(meta, to)| without_elements(meta, to.sbp())).collect();
    }
    let local = Call { op: call.op, inputs: &inputs, outputs: None, at: call.at };
    let known = signature.prepared.borrow().clone().filter(|prepared| prepared.takes(&inputs));
    let prepared = match known {
        Some(prepared) => prepared,
        None => {
            let prepared = Rc::new(Prepared::new(&local, &metas.iter().collect::<Vec<_>>())?);
            signature.prepared.replace(Some(prepared.clone()));
            prepared
        }
    };
    Ok(prepared.run(&local)?.into_iter().collect())
}

/// Zeros to sum over instead of nothing: the operator still adds the inputs that are summands themselves.
fn one_zero(local: &Tensor) -> Result<Tensor> {
    let dims: Vec<usize> = local.dims().iter().map(|&length| length.max(1)).collect();
    Tensor::zeros(dims, local.dtype(), &Device::Cpu)
}

/// What a rank gives that has no elements to compute of: nothing, or what changes nothing in the reduction.
fn without_elements(meta: &Meta, sbp: &[Sbp]) -> Result<Tensor> {
    let reduction = sbp.iter().find_map(|sbp| match sbp {
        Sbp::Partial(op) => Some(*op),
        _ => None,
    });
    match reduction {
        Some(op) => nothing(meta.dtype, op, meta.shape().clone()),
        None => Tensor::zeros(meta.shape(), meta.dtype, &Device::Cpu),
    }
}
