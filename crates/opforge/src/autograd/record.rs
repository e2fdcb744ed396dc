//! Recording a call: what backward needs of it, kept before it runs, and the node that its outputs get after.
//!
//! Before a recorded call writes over an input, what backward will read of that input is copied, and no more than the inputs that need a gradient ask
//! for ([`Operator::saves_for`](crate::operator::Operator::saves_for)).

use smallvec::SmallVec;

use super::elements::Elements;
use super::no_grad;
use super::node::{Action, Edges, Node, Saved, is_differentiable};
use super::view::rewrite;
use crate::operator::{Call, Saves, Tensors};
use crate::{Result, Tensor};

/// What backward will read of a call's inputs.
pub(crate) struct Kept {
    saves: Saves,
    /// By input; empty where none is kept.
    inputs: SmallVec<[Option<Elements>; 3]>,
    /// Copies of the inputs that the call overwrites, by index.
    copies: SmallVec<[(usize, Tensor); 1]>,
}

impl Kept {
    /// To be taken before the call runs: afterwards an input that is also an output holds the result.
    pub(crate) fn of(call: &Call<'_>) -> Result<Self> {
        let mut kept = Kept { saves: needed(call), inputs: SmallVec::new(), copies: SmallVec::new() };
        if kept.saves.inputs == 0 {
            return Ok(kept);
        }
        for (i, input) in call.inputs.iter().enumerate() {
            let elements = if wanted(kept.saves.inputs, i) { Some(kept.keep(call, i, input)?) } else { None };
            kept.inputs.push(elements);
        }
        Ok(kept)
    }

    fn keep(&mut self, call: &Call<'_>, i: usize, input: &Tensor) -> Result<Elements> {
        if !call.outputs.is_some_and(|outputs| outputs.iter().any(|output| output.shares_storage(input))) {
            return Ok(Elements::of(input));
        }
        let copy = no_grad(|| input.copy())?;
        let elements = Elements::of(&copy);
        self.copies.push((i, copy));
        Ok(elements)
    }
}

/// Input `i` as backward will see it.
fn as_kept<'a>(copies: &'a [(usize, Tensor)], i: usize, given: &'a Tensor) -> &'a Tensor {
    copies.iter().find(|(copied, _)| *copied == i).map_or(given, |(_, copy)| copy)
}

/// What the gradients of those inputs that need one read.
fn needed(call: &Call<'_>) -> Saves {
    let op = call.op;
    if !op.differentiable() {
        return Saves::NOTHING;
    }
    let needing = call.inputs.iter().enumerate().filter(|(_, input)| input.requires_grad());
    needing.fold(Saves::NOTHING, |saves, (i, _)| saves | op.saves_for(i))
}

fn wanted(bits: u32, i: usize) -> bool {
    bits & (1 << i.min(31)) != 0
}

/// Records a call: its outputs, which must be new or just written in place, get edges to a new node.
pub(crate) fn record(call: &Call<'_>, kept: Kept, outputs: &Tensors) {
    let (op, inputs) = (call.op, call.inputs);
    // A call without a gradient is recorded only when it overwrites one that has it: with constants.
    let mut edges = Edges::new();
    let differentiable = op.differentiable();
    inputs.iter().for_each(|input| edges.push(if differentiable { input.edge() } else { None }));
    if let Some(written) = call.outputs {
        let reads = |output: &Tensor| differentiable && inputs.iter().any(|input| input.id() == output.id());
        // A view's base has a node of its own for this.
        let is_forgotten = |output: &&&Tensor| output.base().is_none() && !reads(output);
        edges.extend(written.iter().map(|output| Some(output).filter(is_forgotten).and_then(|output| output.edge())));
    }
    let Kept { saves, inputs: saved, copies } = kept;
    let metas = inputs.iter().enumerate().map(|(i, given)| as_kept(&copies, i, given).shared_meta());
    let mut saved = Saved { inputs: saved, ..Saved::default() };
    if saves.outputs != 0 {
        let keep = |(i, t): (usize, &Tensor)| wanted(saves.outputs, i).then(|| Elements::of(t));
        saved.outputs = outputs.iter().enumerate().map(keep).collect();
    }
    let node = Node::new(Action::Operator(op.boxed()), call.at, metas, outputs.iter(), edges, saved);
    for (i, output) in outputs.iter().enumerate() {
        if !wanted(op.differentiable_outputs(), i) || !is_differentiable(output) {
            continue;
        }
        match call.outputs {
            None => output.slot().set(true, Some((node.clone(), i))),
            Some(_) => rewrite(output, (node.clone(), i)),
        }
    }
}
