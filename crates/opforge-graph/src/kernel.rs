//! A graph as one kernel: its calls joined where they go together, and places for what passes between them.

use std::ops::Range;
use std::sync::Arc;

use opforge::fusion::{Access, Chain, Kind, Part};
use opforge::{Error, Meta, Result};
use opforge_cpu::program::Place;
use opforge_cpu::program::sequence::{self, Sequence};
use opforge_runtime::HostKernel;

use crate::graph::{Graph, Node, Use};
use crate::memory::{self, Lifetime};

/// A graph's kernel, and what its tensors are.
pub(crate) struct Carried {
    pub kernel: Arc<dyn HostKernel>,
    /// The values that it is given, in the order of its inputs.
    pub given: Vec<usize>,
    /// The values that it makes, in the order of its outputs.
    pub made: Vec<usize>,
    /// What it changes of what it is given, by numbers of `given`: its further outputs.
    pub changed: Vec<usize>,
    /// The numbers of calls that are one kernel each.
    pub fusions: Vec<usize>,
    /// The bytes of what passes between kernels.
    pub memory: usize,
}

/// What one kernel carries out: some calls of the graph.
struct Step {
    nodes: Range<usize>,
    kernel: Arc<dyn HostKernel>,
    inputs: Vec<Access>,
    outputs: Vec<Access>,
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
        let (locals, lifetimes): (Vec<usize>, Vec<Lifetime>) =
            values().filter(passes).filter_map(|value| Some((value, lives[value]?))).unzip();
        let (offsets, memory) = memory::plan(&lifetimes);
        let mut places = vec![Place::Local(0); self.values.len()];
        given.iter().enumerate().for_each(|(number, &value)| places[value] = Place::Input(number));
        made.iter().enumerate().for_each(|(number, &value)| places[value] = Place::Output(number));
        let further = changed.iter().enumerate();
        further.for_each(|(number, &i)| places[given[i]] = Place::Output(made.len() + number));
        locals.iter().zip(offsets).for_each(|(&value, offset)| places[value] = Place::Local(offset));

        let fusions = steps.iter().map(|step| step.nodes.len()).filter(|calls| *calls > 1).collect();
        let tensors = (given.len(), made.len() + changed.len());
        let kernel = Arc::new(Sequence::new(calls(&steps, &places), memory, tensors, self.blame(&steps))?);
        Ok(Carried { kernel, given, made, changed, fusions, memory })
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
            let step = match fusion.then(|| self.fused(&parts, start)).flatten() {
                Some(step) => step,
                None => self.single(start)?,
            };
            start = step.nodes.end;
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
        Ok(Step { nodes: number..number + 1, kernel, inputs: accesses(&node.inputs), outputs: accesses(&node.outputs) })
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
        Some(Step { nodes: start..end, kernel: fused.kernel, inputs: fused.inputs, outputs: fused.outputs })
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
