//! Programs in pieces: kernels, and between them calls of functions that the calling thread runs, those of operators in another language. What passes
//! between pieces are tensors of bytes, one for each value.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use opforge::operator::{Lowering, TensorFunction, distinct_bytes};
use opforge::{Error, Meta, Result, Tensor};
use opforge_runtime::sequence::Stopwatch;
use opforge_runtime::{Storage, vm};

use crate::graph::{Graph, Node, Origin, Use};
use crate::inside::{Apart, Passing, Stage};
use crate::kernel::{described, metas};
use crate::memory::Lifetime;
use crate::program::Options;
use crate::segment::{Segment, flat, next_key, seen, start_of};

/// A part of a program.
pub(crate) struct Piece {
    pub work: Work,
    /// The values that it is given, and those that it makes for others.
    reads: Vec<usize>,
    gives: Vec<usize>,
    /// The values of which no other piece knows after it.
    ends: Vec<usize>,
}

pub(crate) enum Work {
    Kernel(Segment),
    Call(Call),
}

/// A call of a function.
pub(crate) struct Call {
    node: Node,
    function: Arc<TensorFunction>,
    watch: Stopwatch,
}

impl Work {
    pub fn watch(&self) -> &Stopwatch {
        match self {
            Work::Kernel(segment) => &segment.watch,
            Work::Call(call) => &call.watch,
        }
    }
}

/// The pieces of a graph: one, unless it calls functions.
///
/// # Errors
/// What operators refuse of these tensors.
pub(crate) fn pieces(graph: &mut Graph, options: Options) -> Result<Vec<Piece>> {
    let functions = graph.nodes.iter().map(function).collect::<Result<Vec<_>>>()?;
    if functions.iter().all(Option::is_none) {
        let work = Work::Kernel(Segment::new(graph, options)?);
        return Ok(vec![Piece { work, reads: Vec::new(), gives: Vec::new(), ends: Vec::new() }]);
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    let count = functions.len();
    for (number, function) in functions.into_iter().enumerate() {
        let Some(function) = function else { continue };
        pieces.extend(kernel(graph, start..number, options)?);
        pieces.push(called(graph, number, function));
        start = number + 1;
    }
    pieces.extend(kernel(graph, start..count, options)?);
    end_values(graph, &mut pieces);
    Ok(pieces)
}

fn function(node: &Node) -> Result<Option<Arc<TensorFunction>>> {
    Ok(match node.op.lower(&metas(&node.inputs), &metas(&node.outputs))? {
        Lowering::Function(function) => Some(function),
        _ => None,
    })
}

/// Some calls as a kernel; none of no calls.
fn kernel(graph: &Graph, calls: Range<usize>, options: Options) -> Result<Option<Piece>> {
    let (own, later) = (&graph.nodes[calls.clone()], &graph.nodes[calls.end..]);
    if own.is_empty() {
        return Ok(None);
    }
    let written = graph.marks(own.iter().flat_map(|node| &node.outputs));
    let used = graph.marks(own.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs)));
    let before =
        graph.marks(graph.nodes[..calls.start].iter().flat_map(|node| node.inputs.iter().chain(&node.outputs)));
    let after = later.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs)).chain(&graph.outputs);
    let wanted = graph.marks(after);
    let is_own = |value: usize| graph.is_made(value) && !before[value];
    let is_given = |value: &usize| {
        let origin = &graph.values[*value].origin;
        used[*value] && !is_own(*value) && !matches!(origin, Origin::Captured(_))
    };
    let values = || 0..graph.values.len();
    let reads: Vec<usize> = values().filter(is_given).collect();
    let gives: Vec<usize> = values().filter(|&value| is_own(value) && written[value] && wanted[value]).collect();
    let bytes = |values: &[usize]| values.iter().map(|&value| graph.bytes(value)).collect::<Vec<Use>>();
    let mut part = Graph {
        device: graph.device,
        values: graph.values.clone(),
        nodes: own.to_vec(),
        inputs: bytes(&reads),
        outputs: bytes(&gives),
        reads: Vec::new(),
    };
    for (number, &value) in reads.iter().enumerate() {
        part.values[value].origin = Origin::Input(number);
    }
    let work = Work::Kernel(Segment::new(&mut part, options)?);
    Ok(Some(Piece { work, reads, gives, ends: Vec::new() }))
}

fn called(graph: &Graph, number: usize, function: Arc<TensorFunction>) -> Piece {
    let node = graph.nodes[number].clone();
    let values = |uses: &[Use]| uses.iter().map(|x| x.value).collect::<Vec<usize>>();
    let (reads, gives) = (values(&node.inputs), values(&node.outputs));
    Piece { work: Work::Call(Call { node, function, watch: Stopwatch::new(1) }), reads, gives, ends: Vec::new() }
}

/// Notes after which piece nobody knows of a value any more.
fn end_values(graph: &Graph, pieces: &mut [Piece]) {
    let mut is_known = graph.marks(&graph.outputs);
    for piece in pieces.iter_mut().rev() {
        for &value in piece.reads.iter().chain(&piece.gives) {
            if !std::mem::replace(&mut is_known[value], true) {
                piece.ends.push(value);
            }
        }
    }
}

/// What is inside: the stages, what passes between them, and the bytes of all of it. Each kernel has memory of its own, and what passes between pieces too.
pub(crate) fn inside(graph: &Graph, pieces: &[Piece]) -> (Vec<Stage>, Vec<Passing>, usize) {
    let (mut stages, mut passing, mut memory) = (Vec::<Stage>::new(), Vec::new(), 0);
    let mut makers = vec![None; graph.values.len()];
    let returned = graph.marks(&graph.outputs);
    for piece in pieces {
        let first = stages.len();
        match &piece.work {
            Work::Kernel(segment) => {
                stages.extend(segment.stages.iter().cloned());
                passing.extend(segment.passing.iter().map(|own| Passing {
                    offset: memory + own.offset,
                    life: Lifetime { first: first + own.life.first, last: first + own.life.last, ..own.life },
                }));
                memory += segment.memory;
            }
            Work::Call(call) => {
                let apart = Apart::Function(call.node.op.name());
                stages.iter_mut().rev().take(1).for_each(|before| before.apart = Some(apart));
                stages.push(call.stage());
            }
        }
        let last = stages.len().saturating_sub(1);
        piece.gives.iter().for_each(|&value| makers[value] = makers[value].or(Some(last)));
        for &value in piece.ends.iter().filter(|&&value| graph.is_made(value) && !returned[value]) {
            let (bytes, first) = (graph.values[value].bytes, makers[value].unwrap_or(last));
            passing.push(Passing { offset: memory, life: Lifetime { bytes, first, last } });
            memory += bytes;
        }
    }
    stages.iter_mut().rev().take(1).for_each(|last| last.apart = None);
    (stages, passing, memory)
}

/// Runs pieces one after the other. The thread waits for nothing, unless a function does.
///
/// # Errors
/// Those of the pieces.
pub(crate) fn run(graph: &Graph, pieces: &[Piece], arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
    let mut there = There { graph, arguments, values: vec![None; graph.values.len()] };
    for piece in pieces {
        match &piece.work {
            Work::Kernel(segment) => {
                let given = piece.reads.iter().map(|&value| there.bytes(value)).collect::<Result<Vec<Tensor>>>()?;
                let made = segment.run(&given.iter().collect::<Vec<&Tensor>>())?;
                piece.gives.iter().zip(made).for_each(|(&value, made)| there.values[value] = Some(made));
            }
            Work::Call(call) => call.run(&mut there)?,
        }
        piece.ends.iter().for_each(|&value| there.values[value] = None);
    }
    graph.outputs.iter().map(|output| there.tensor(output)).collect()
}

/// The memory of values, as tensors of bytes, as far as it is there.
struct There<'a> {
    graph: &'a Graph,
    arguments: &'a [&'a Tensor],
    values: Vec<Option<Tensor>>,
}

impl There<'_> {
    /// All of a value.
    fn bytes(&mut self, value: usize) -> Result<Tensor> {
        if let Some(there) = &self.values[value] {
            return Ok(there.clone());
        }
        let bytes = self.graph.values[value].bytes;
        let found = match &self.graph.values[value].origin {
            Origin::Input(number) => flat(self.arguments[*number].storage(), start_of(self.arguments[*number]), bytes)?,
            Origin::Captured(captured) => flat(captured.storage()?, 0, bytes)?,
            Origin::Key(generator) => next_key(generator, self.graph.device)?,
            Origin::Made => flat(&Storage::new(self.graph.device, bytes)?, 0, bytes)?,
            Origin::Packed(_) => return Err(Error::msg("only kernels read packed weights")),
        };
        self.values[value] = Some(found.clone());
        Ok(found)
    }

    /// A part of a value.
    fn tensor(&mut self, x: &Use) -> Result<Tensor> {
        let bytes = self.bytes(x.value)?;
        seen(bytes.storage(), start_of(&bytes), x)
    }
}

impl Call {
    /// Runs the function; what it gives takes the place of the node's outputs, unless these are inputs that it has changed.
    fn run(&self, there: &mut There<'_>) -> Result<()> {
        let begun = self.watch.is_on().then(Instant::now);
        let inputs = self.node.inputs.iter().map(|x| there.tensor(x)).collect::<Result<Vec<Tensor>>>()?;
        let made = (self.function)(&inputs)?;
        let is_changed = |x: &Use| self.node.inputs.iter().any(|input| input.value == x.value);
        let mut own: Vec<Tensor> = Vec::new();
        for (place, output) in self.node.outputs.iter().enumerate().filter(|(_, output)| !is_changed(output)) {
            let result = made.get(place).ok_or_else(|| self.other(place, "nothing".to_owned()))?;
            let others = inputs.iter().chain(&own);
            let result = self.checked(place, result, &output.meta, others)?;
            let bytes = there.graph.values[output.value].bytes;
            there.values[output.value] = Some(flat(result.storage(), start_of(&result), bytes)?);
            own.push(result);
        }
        if begun.is_some() {
            vm::synchronize()?;
        }
        self.watch.note(0, begun);
        Ok(())
    }

    /// A result as the graph has it, in memory that is none of the others'.
    fn checked<'a>(
        &self,
        place: usize,
        result: &Tensor,
        meta: &Meta,
        mut others: impl Iterator<Item = &'a Tensor>,
    ) -> Result<Tensor> {
        if (result.dtype(), result.shape()) != (meta.dtype, meta.shape()) {
            return Err(self.other(place, format!("{}{:?}", result.dtype(), result.dims())));
        }
        let is_alone = result.is_contiguous() && !others.any(|other| other.shares_storage(result));
        if is_alone { Ok(result.detach()) } else { result.detach().copy()?.contiguous() }
    }

    #[cold]
    fn other(&self, place: usize, given: String) -> Error {
        let meta = &self.node.outputs[place].meta;
        let accepted = format!("{}{:?}, as it was traced", meta.dtype, meta.dims());
        Error::value(self.node.op.name(), format!("output {place}"), given, accepted)
    }

    fn stage(&self) -> Stage {
        let Node { op, inputs, outputs, .. } = &self.node;
        let bytes = inputs.iter().chain(outputs).map(|x| distinct_bytes(&x.meta)).sum();
        Stage { calls: vec![described(&self.node)], bytes, flops: 0, apart: Some(Apart::Function(op.name())) }
    }
}
