//! Operators on parts.

use std::rc::Rc;

use opforge::dispatch::{Prepared, check_destination};
use opforge::operator::{Call, Tensors};
use opforge::{Device, Meta, Result, Tensor, no_grad};
use smallvec::{SmallVec, smallvec};

use super::boxing::{boxed, nothing};
use super::content::{Content, Part};
use super::read::part_of;
use super::signature::{Kind, Output, Share, Signature};
use super::view::write;
use super::{World, beside};
use crate::{Placement, Sbp};

type Parts = SmallVec<[Part; 3]>;

/// Carries out a call that computes.
pub(super) fn compute(call: &Call<'_>, placement: &Placement) -> Result<Tensors> {
    let known = call.inputs.iter().chain(call.outputs.unwrap_or_default()).find_map(|t| Content::of(t));
    let world = known.map_or_else(World::current, |content| Ok(content.world.clone()))?;
    let parts = parts_of(call, call.inputs)?;
    let signature = signature_of(call, &world, &parts, placement)?;
    check_destination(call, &signature.metas)?;
    if signature.gathers
        && let Some(composed) = no_grad(|| call.op.decompose(call.inputs))
    {
        return finish(call, composed?);
    }
    if let Some(ledger) = world.ledger() {
        let (work, brought) = signature.work(call, &parts)?;
        ledger.computed(call, work, brought);
    }
    let brought = call.inputs.iter().zip(&parts).zip(&signature.inputs);
    let locals = brought.map(|((input, part), to)| boxed(&world, input.meta(), part, to, call.at));
    let locals = locals.collect::<Result<SmallVec<[Option<Tensor>; 3]>>>()?;
    let mut made = match locals.into_iter().collect::<Option<SmallVec<[Tensor; 3]>>>() {
        Some(locals) if signature.share != Share::None => run(call, &signature, &locals)?,
        _ => Tensors::new(),
    }
    .into_iter();
    let mut part = |output: &Output| Part { distribution: output.distribution.clone(), local: made.next() };
    match call.outputs {
        None => {
            let tensor = |output: &Output| Content::tensor(&world, &output.whole, part(output), output.device);
            signature.outputs.iter().map(tensor).collect()
        }
        Some(given) => {
            let mut write_one = |(given, output): (&&Tensor, &Output)| write(given, &part(output), call.at);
            given.iter().zip(&signature.outputs).try_for_each(&mut write_one)?;
            given.iter().for_each(|given| given.bump_version());
            Ok(given.iter().map(|given| (*given).clone()).collect())
        }
    }
}

fn parts_of(call: &Call<'_>, tensors: &[&Tensor]) -> Result<Parts> {
    tensors.iter().map(|tensor| part_of(tensor, call.at)).collect()
}

fn signature_of(call: &Call<'_>, world: &World, parts: &Parts, placement: &Placement) -> Result<Rc<Signature>> {
    let given = call.outputs.map(|given| parts_of(call, given)).transpose()?;
    let model = beside::model(call, placement);
    let to: Option<SmallVec<[_; 3]>> = match (&given, &model) {
        (Some(given), _) => Some(given.iter().map(|part| &part.distribution).collect()),
        (None, Some(model)) => Some(smallvec![model]),
        (None, None) => None,
    };
    let from: SmallVec<[_; 3]> = parts.iter().map(|part| &part.distribution).collect();
    let inputs: SmallVec<[&Meta; 3]> = call.inputs.iter().map(|input| input.meta()).collect();
    Kind { world, op: call.op, inputs: &inputs, from: &from, to: to.as_deref(), placement }.signature()
}

/// The results of a composition, where the call wants them.
fn finish(call: &Call<'_>, made: Tensors) -> Result<Tensors> {
    let Some(given) = call.outputs else { return Ok(made) };
    no_grad(|| made.iter().zip(given).try_for_each(|(made, given)| given.copy_from(made)))?;
    Ok(given.iter().map(|given| (*given).clone()).collect())
}

/// Runs the operator on this rank's parts.
fn run(call: &Call<'_>, signature: &Signature, locals: &[Tensor]) -> Result<Tensors> {
    match signature.share {
        Share::None => Ok(Tensors::new()),
        Share::Neutral => signature.outputs.iter().map(without_elements).collect(),
        Share::OfZeros => {
            let filled = locals.iter().zip(call.inputs).map(|(local, input)| {
                if local.elem_count() == 0 && input.elem_count() > 0 { one_zero(local) } else { Ok(local.clone()) }
            });
            run_on(call, signature, &filled.collect::<Result<Vec<Tensor>>>()?)
        }
        Share::Parts => run_on(call, signature, locals),
    }
}

fn run_on(call: &Call<'_>, signature: &Signature, locals: &[Tensor]) -> Result<Tensors> {
    let inputs: SmallVec<[&Tensor; 3]> = locals.iter().collect();
    let local = Call { op: call.op, inputs: &inputs, outputs: None, at: call.at };
    let known = signature.prepared.borrow().clone().filter(|prepared| prepared.takes(&inputs));
    let prepared = match known {
        Some(prepared) => prepared,
        None => {
            let metas: Vec<&Meta> = signature.outputs.iter().map(|output| &output.part).collect();
            let prepared = Rc::new(Prepared::of_parts(&local, &metas, signature.place.as_ref())?);
            signature.prepared.replace(Some(prepared.clone()));
            prepared
        }
    };
    prepared.run(&local)
}

/// Zeros to sum over instead of nothing.
fn one_zero(local: &Tensor) -> Result<Tensor> {
    let dims: Vec<usize> = local.dims().iter().map(|&length| length.max(1)).collect();
    Tensor::zeros(dims, local.dtype(), &Device::Cpu)
}

/// What a rank gives that has no elements to compute of: nothing, or what changes nothing in the reduction.
fn without_elements(output: &Output) -> Result<Tensor> {
    let reduction = output.distribution.sbp().iter().find_map(|sbp| match sbp {
        Sbp::Partial(op) => Some(*op),
        _ => None,
    });
    let (dtype, shape) = (output.part.dtype, output.part.shape());
    match reduction {
        Some(op) => nothing(dtype, op, shape.clone()),
        None => Tensor::zeros(shape, dtype, &Device::Cpu),
    }
}
