//! A graph as one kernel: its calls joined where they go together, and places for what passes between them.

use std::ops::Range;
use std::sync::Arc;

use opforge::fusion::{Access, Chain, Kind, Part};
use opforge::operator::Lowering;
use opforge::{Error, Meta, Result};
use opforge_cpu::program::Place;
use opforge_cpu::program::sequence::{self, Sequence, Stopwatch};
use opforge_runtime::HostKernel;

use crate::graph::{Graph, Node, Use};
use crate::inside::{Apart, Passing, Stage};
use crate::memory::{self, Lifetime};
use crate::owner::shared;

/// A graph's kernel, and what its tensors are.
pub(crate) struct Carried {
    pub kernel: Arc<dyn HostKernel>,
    /// The values that it is given, in the order of its inputs.
    pub given: Vec<usize>,
    /// The values that it makes, in the order of its outputs.
    pub made: Vec<usize>,
    /// What it changes of what it is given, by numbers of `given`: its further outputs.
    pub changed: Vec<usize>,
    /// What is inside.
    pub stages: Vec<Stage>,
    /// What passes between kernels, and the bytes of all of it.
    pub passing: Vec<Passing>,
    pub memory: usize,
    pub watch: Arc<Stopwatch>,
}

/// What one kernel carries out: some calls of the graph.
struct Step {
    nodes: Range<usize>,
    kernel: Arc<dyn HostKernel>,
    inputs: Vec<Access>,
    outputs: Vec<Access>,
    /// Why the next call is not part of it.
    apart: Option<Apart>,
}

impl Graph {
    /// The kernel of all calls; with `fusion`, those are joined that go together.
    pub(crate) fn carried(&self, fusion: bool) -> Result<Carried> {
        let steps = self.steps(fusion)?;
        let lives = self.lives(&steps);
        let written = self.marks(self.nodes.iter().flat_map(|node| &node.outputs));
        let returned = self.marks(&self.outputs);
        let values = || 0..self.values.len();
        let is_used = |value: usize| lives[value].is_some() || returned[value];
        let given: Vec<usize> = values().filter(|&value| !self.is_made(value) && is_used(value)).collect();
        let changed: Vec<usize> = (0..given.len()).filter(|&number| written[given[number]]).collect();
        let made: Vec<usize> = values().filter(|&value| self.is_made(value) && returned[value]).collect();

        let passes = |value: &usize| self.is_made(*value) && !returned[*value];
        let alone = steps.iter().map(|step| (step.nodes.len() == 1).then_some(step.nodes.start));
        let owners = self.owners(alone, &lives, passes);
        let is_owner = |value: &usize| passes(value) && owners[*value] == *value;
        let (locals, lifetimes): (Vec<usize>, Vec<Lifetime>) =
            values().filter(is_owner).filter_map(|value| Some((value, shared(&lives, &owners, value)?))).unzip();
        let (offsets, memory) = memory::plan(&lifetimes);
        let mut places = vec![Place::Local(0); self.values.len()];
        given.iter().enumerate().for_each(|(number, &value)| places[value] = Place::Input(number));
        made.iter().enumerate().for_each(|(number, &value)| places[value] = Place::Output(number));
        let further = changed.iter().enumerate();
        further.for_each(|(number, &i)| places[given[i]] = Place::Output(made.len() + number));
        locals.iter().zip(&offsets).for_each(|(&value, &offset)| places[value] = Place::Local(offset));
        values().filter(passes).for_each(|value| places[value] = places[owners[value]]);

        let watch = Arc::new(Stopwatch::new(steps.len()));
        let tensors = (given.len(), made.len() + changed.len());
        let blame = self.blame(&steps);
        let kernel = Arc::new(Sequence::new(calls(&steps, &places), memory, tensors, watch.clone(), blame)?);
        let stages = steps.iter().map(|step| self.stage(step)).collect::<Result<_>>()?;
        let passing = lifetimes.into_iter().zip(offsets).map(|(life, offset)| Passing { offset, life }).collect();
        Ok(Carried { kernel, given, made, changed, stages, passing, memory, watch })
    }

    /// For each value, whether one of these tensors is of it.
    fn marks<'a>(&self, uses: impl IntoIterator<Item = &'a Use>) -> Vec<bool> {
        let mut marks = vec![false; self.values.len()];
        uses.into_iter().for_each(|x| marks[x.value] = true);
        marks
    }

    /// The error of a step, as that of the first of its calls: the others of a program cannot fail.
    fn blame(&self, steps: &[Step]) -> impl Fn(usize, Error) -> Error + Send + Sync + 'static {
        let first = |step: &Step| (self.nodes[step.nodes.start].op.name(), self.nodes[step.nodes.start].at);
        let owners: Vec<_> = steps.iter().map(first).collect();
        move |step, error| {
            let (op, at) = owners[step];
            Error::Deferred { op: op.into(), at, caller: None, inner: Box::new(error) }
        }
    }

    /// The kernels, each of as many calls as go together.
    fn steps(&self, fusion: bool) -> Result<Vec<Step>> {
        let parts = self.nodes.iter().map(part).collect::<Result<Vec<Option<Part>>>>()?;
        let mut steps = Vec::new();
        let mut start = 0;
        while start < self.nodes.len() {
            let mut step = match fusion.then(|| self.fused(&parts, start)).flatten() {
                Some(step) => step,
                None => self.single(start)?,
            };
            start = step.nodes.end;
            step.apart = if fusion { self.apart(&parts, step.nodes.clone()) } else { Some(Apart::Off) };
            step.apart = step.apart.filter(|_| start < self.nodes.len());
            steps.push(step);
        }
        Ok(steps)
    }

    fn single(&self, number: usize) -> Result<Step> {
        let node = &self.nodes[number];
        let metas = |uses: &[Use]| uses.iter().map(|x| x.meta.clone()).collect::<Vec<Meta>>();
        let (inputs, outputs) = (metas(&node.inputs), metas(&node.outputs));
        let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = (inputs.iter().collect(), outputs.iter().collect());
        let kernel = node.op.lower(&inputs, &outputs)?.kernel(node.op.name(), &inputs, &outputs)?;
        Ok(Step {
            nodes: number..number + 1,
            kernel,
            inputs: accesses(&node.inputs),
            outputs: accesses(&node.outputs),
            apart: None,
        })
    }

    /// Why the call after these is not part of their kernel.
    fn apart(&self, parts: &[Option<Part>], nodes: Range<usize>) -> Option<Apart> {
        let (next, before) = (self.nodes.get(nodes.end)?.op.name(), self.nodes[nodes.end - 1].op.name());
        if parts[nodes.end].is_none() {
            return Some(Apart::Whole(next));
        }
        let mut chain = Chain::default();
        for (node, part) in self.nodes.iter().zip(parts).take(nodes.end + 1).skip(nodes.start) {
            let Some(part) = part else { return Some(Apart::AfterWhole(before)) };
            if let Err(obstacle) = chain.push(part, &accesses(&node.inputs), &accesses(&node.outputs)) {
                return Some(Apart::Obstacle(next, obstacle));
            }
        }
        None
    }

    /// What a step is, for those who look inside.
    fn stage(&self, step: &Step) -> Result<Stage> {
        let nodes = &self.nodes[step.nodes.clone()];
        let uses = || nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
        let bytes_of = |access: &Access| {
            let of = uses().filter(|x| (x.value, x.byte_offset()) == (access.storage, access.byte_offset));
            of.map(|x| distinct(&x.meta)).max().unwrap_or(0)
        };
        let call = |node: &Node| {
            let results: Vec<String> =
                node.outputs.iter().map(|x| format!("{}{:?}", x.meta.dtype, x.meta.dims())).collect();
            format!("{} {}", node.op.name(), results.join(", "))
        };
        Ok(Stage {
            calls: nodes.iter().map(call).collect(),
            bytes: step.inputs.iter().chain(&step.outputs).map(bytes_of).sum(),
            flops: nodes.iter().map(flops).sum::<Result<usize>>()?,
            apart: step.apart,
        })
    }

    /// As many calls as go together with this one; none if it is alone.
    fn fused(&self, parts: &[Option<Part>], start: usize) -> Option<Step> {
        let mut chain = Chain::default();
        for (node, part) in self.nodes[start..].iter().zip(&parts[start..]) {
            let Some(part) = part else { break };
            if chain.push(part, &accesses(&node.inputs), &accesses(&node.outputs)).is_err() {
                break;
            }
        }
        let end = start + chain.len();
        if chain.len() < 2 {
            return None;
        }
        let read_later =
            |value: usize| self.nodes[end..].iter().flat_map(|node| &node.inputs).any(|x| x.value == value);
        let wanted = |value: usize| {
            !self.is_made(value) || read_later(value) || self.outputs.iter().any(|output| output.value == value)
        };
        let fused = chain.fuse(wanted).ok()?;
        Some(Step {
            nodes: start..end,
            kernel: fused.kernel,
            inputs: fused.inputs,
            outputs: fused.outputs,
            apart: None,
        })
    }

    /// From which step to which each value is needed in memory.
    fn lives(&self, steps: &[Step]) -> Vec<Option<Lifetime>> {
        let mut lives: Vec<Option<Lifetime>> = vec![None; self.values.len()];
        for (number, step) in steps.iter().enumerate() {
            for access in step.inputs.iter().chain(&step.outputs) {
                let bytes = self.values[access.storage].bytes;
                let life = lives[access.storage].get_or_insert(Lifetime { bytes, first: number, last: number });
                life.last = number;
            }
        }
        lives
    }
}

/// The bytes of a tensor's elements, repeated ones once.
fn distinct(meta: &Meta) -> usize {
    let dims = meta.dims().iter().zip(meta.layout.stride()).filter(|(_, stride)| **stride != 0);
    dims.map(|(len, _)| len).product::<usize>() * meta.dtype.size_in_bytes()
}

/// The multiplications and additions of a product of matrices; of other calls none, which memory holds up.
fn flops(node: &Node) -> Result<usize> {
    let metas = |uses: &[Use]| uses.iter().map(|x| x.meta.clone()).collect::<Vec<Meta>>();
    let (inputs, outputs) = (metas(&node.inputs), metas(&node.outputs));
    let lowering = node.op.lower(&inputs.iter().collect::<Vec<_>>(), &outputs.iter().collect::<Vec<_>>())?;
    let depth = match lowering {
        Lowering::Contract(_) => inputs[0].dims().last().copied().unwrap_or(1),
        _ => 0,
    };
    Ok(2 * depth * outputs[0].elem_count())
}

fn calls(steps: &[Step], places: &[Place]) -> Vec<sequence::Call> {
    let tensor = |x: &Access| sequence::Tensor { place: places[x.storage], byte_offset: x.byte_offset };
    let call = |step: &Step| sequence::Call {
        kernel: step.kernel.clone(),
        inputs: step.inputs.iter().map(tensor).collect(),
        outputs: step.outputs.iter().map(tensor).collect(),
    };
    steps.iter().map(call).collect()
}

fn part(node: &Node) -> Result<Option<Part>> {
    let inputs: Vec<&Meta> = node.inputs.iter().map(|x| &x.meta).collect();
    let outputs: Vec<&Meta> = node.outputs.iter().map(|x| &x.meta).collect();
    let lowering = node.op.lower(&inputs, &outputs)?;
    let kind = Kind::of(&*node.op, &lowering, &inputs, &outputs);
    Ok(kind.map(|kind| Part::new(&*node.op, kind, &inputs, &outputs)))
}

fn accesses(uses: &[Use]) -> Vec<Access> {
    uses.iter().map(|x| Access { storage: x.value, byte_offset: x.byte_offset() }).collect()
}
