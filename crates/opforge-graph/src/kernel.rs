//! A graph as one kernel: its calls joined where they go together, and places for what passes between them.

use std::ops::Range;
use std::sync::Arc;

use opforge::fusion::{Access, Chain, Fused, Kind, Part};
use opforge::operator::distinct_bytes;
use opforge::{Error, Meta, Result};
use opforge_cpu::program::sequence::Sequence as HostSequence;
use opforge_runtime::sequence::{self, Place, Sequence, Stopwatch};
use opforge_runtime::{HostKernel, Kernel};

use crate::graph::{Graph, Node, Use};
use crate::inside::{Apart, Passing, Stage};
use crate::memory::{self, Lifetime};
use crate::owner::shared;
use crate::program::Options;

/// A graph's kernel, and what its tensors are.
pub(crate) struct Carried {
    pub kernel: Arc<dyn Kernel>,
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
pub(crate) struct Step<K: ?Sized = dyn HostKernel> {
    pub nodes: Range<usize>,
    pub kernel: Arc<K>,
    pub inputs: Vec<Access>,
    pub outputs: Vec<Access>,
    pub flops: usize,
    /// Why the next call is not part of it.
    pub apart: Option<Apart>,
}

/// The steps with the places of their tensors.
type Calls<K> = Vec<sequence::Call<K>>;

/// Tells whose error a step's is.
type Blame = Box<dyn Fn(usize, Error) -> Error + Send + Sync>;

/// What calls are joined by.
struct Joining {
    /// The calls that can be part of a program.
    parts: Vec<Option<Part>>,
    last_reads: Vec<Option<usize>>,
    /// Whether weights of products are packed.
    prepacking: bool,
}

impl Graph {
    /// The kernel of all calls, as the options want it.
    pub(crate) fn carried(&mut self, options: Options) -> Result<Carried> {
        if self.device.is_cpu() {
            let steps = self.steps(options)?;
            return self.carried_by(&steps, |calls, memory, tensors, watch, blame| {
                Ok(Arc::new(HostSequence::new(calls, memory, tensors, watch, blame)?))
            });
        }
        let steps = self.device_steps(options)?;
        self.carried_by(&steps, |calls, memory, tensors, watch, blame| {
            Ok(Arc::new(Sequence::new(calls, memory, tensors, watch, blame)?))
        })
    }

    /// The kernel of these steps, which `join` makes of its calls, the bytes between them, the numbers of inputs and outputs, and what measures and blames
    /// its steps.
    fn carried_by<K: ?Sized>(
        &self,
        steps: &[Step<K>],
        join: impl FnOnce(Calls<K>, usize, (usize, usize), Arc<Stopwatch>, Blame) -> Result<Arc<dyn Kernel>>,
    ) -> Result<Carried> {
        let lives = self.lives(steps);
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
        let together = shared(&lives, &owners);
        let (locals, lifetimes): (Vec<usize>, Vec<Lifetime>) =
            values().filter(passes).filter_map(|value| Some((value, together[value]?))).unzip();
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
        let kernel = join(calls(steps, &places), memory, tensors, watch.clone(), self.blame(steps))?;
        let stages = steps.iter().map(|step| self.stage(step)).collect();
        let passing = lifetimes.into_iter().zip(offsets).map(|(life, offset)| Passing { offset, life }).collect();
        Ok(Carried { kernel, given, made, changed, stages, passing, memory, watch })
    }

    /// The error of a step, as that of the first of its calls: the others of a program cannot fail.
    fn blame<K: ?Sized>(&self, steps: &[Step<K>]) -> Blame {
        let first = |step: &Step<K>| {
            let node = &self.nodes[step.nodes.start];
            (node.op.name(), node.at, node.caller.clone())
        };
        let owners: Vec<_> = steps.iter().map(first).collect();
        Box::new(move |step, error| {
            let (op, at, caller) = owners[step].clone();
            Error::Deferred { op: op.into(), at, caller, inner: Box::new(error) }
        })
    }

    /// The kernels, each of as many calls as go together.
    fn steps(&mut self, options: Options) -> Result<Vec<Step>> {
        let parts = self.nodes.iter().map(part).collect::<Result<Vec<Option<Part>>>>()?;
        let joining = Joining { parts, last_reads: self.last_reads(), prepacking: options.prepacking };
        let mut steps = Vec::new();
        let mut start = 0;
        while start < self.nodes.len() {
            let step =
                if options.fusion { self.joined(&joining, start)? } else { self.single(start, Some(Apart::Off))? };
            start = step.nodes.end;
            steps.push(if options.prepacking { self.prepacked(step) } else { step });
        }
        if let Some(last) = steps.last_mut() {
            last.apart = None;
        }
        Ok(steps)
    }

    /// A call as a kernel of its own.
    fn single(&self, number: usize, apart: Option<Apart>) -> Result<Step> {
        let node = &self.nodes[number];
        let (inputs, outputs) = (metas(&node.inputs), metas(&node.outputs));
        let lowering = node.op.lower(&inputs, &outputs)?;
        let flops = lowering.work(&inputs, &outputs).flops;
        let kernel = lowering.kernel(node.op.name(), &inputs, &outputs)?;
        let (inputs, outputs) = (accesses(&node.inputs), accesses(&node.outputs));
        Ok(Step { nodes: number..number + 1, kernel, inputs, outputs, flops, apart })
    }

    /// As many calls as go together from this one on.
    fn joined(&mut self, joining: &Joining, start: usize) -> Result<Step> {
        let parts = &joining.parts;
        let own = self.nodes[start].op.name();
        let (mut chain, mut apart) = (Chain::default(), None);
        for (node, part) in self.nodes.iter().zip(parts).skip(start) {
            let Some(part) = part else {
                apart = Some(Apart::Whole(node.op.name()));
                break;
            };
            if let Err(obstacle) = chain.push(part, &accesses(&node.inputs), &accesses(&node.outputs)) {
                apart = Some(Apart::Obstacle(node.op.name(), obstacle));
                break;
            }
        }
        if let Some(step) = self.fused(&chain, start, joining) {
            return Ok(Step { apart, ..step });
        }
        // Where the chain has not even begun, what ended it was this call.
        let apart = match (chain.len(), self.nodes.get(start + 1).zip(parts.get(start + 1))) {
            (1, _) => apart,
            (_, Some((next, None))) => Some(Apart::Whole(next.op.name())),
            _ => Some(Apart::AfterWhole(own)),
        };
        self.single(start, apart)
    }

    /// The kernel of a chain of calls; none of fewer than two, and of those that no kernel can be made for.
    fn fused(&mut self, chain: &Chain<'_>, start: usize, joining: &Joining) -> Option<Step> {
        let end = start + chain.len();
        if chain.len() < 2 {
            return None;
        }
        let prepack = if joining.prepacking { chain.prepack().ok()? } else { None };
        let arranged = prepack.as_ref().and_then(|prepack| Some((prepack, self.packed(start, prepack)?)));
        let wanted = |value: usize| !self.is_made(value) || joining.last_reads[value].is_some_and(|last| last >= end);
        let Fused { kernel, inputs, outputs } = chain.fuse_arranged(wanted, arranged).ok()?;
        Some(Step { nodes: start..end, kernel, inputs, outputs, flops: chain.flops(), apart: None })
    }

    /// What a step is, for those who look inside.
    fn stage<K: ?Sized>(&self, step: &Step<K>) -> Stage {
        let nodes = &self.nodes[step.nodes.clone()];
        let uses = || nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
        let bytes_of = |access: &Access| {
            let of = uses().filter(|x| (x.value, x.byte_offset()) == (access.storage, access.byte_offset));
            of.map(|x| distinct_bytes(&x.meta)).max().unwrap_or(self.values[access.storage].bytes)
        };
        Stage {
            calls: nodes.iter().map(described).collect(),
            bytes: step.inputs.iter().chain(&step.outputs).map(bytes_of).sum(),
            flops: step.flops,
            apart: step.apart,
        }
    }

    /// From which step to which each value is needed in memory.
    fn lives<K: ?Sized>(&self, steps: &[Step<K>]) -> Vec<Option<Lifetime>> {
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

/// A call's operator and results.
pub(crate) fn described(node: &Node) -> String {
    let results: Vec<String> = node.outputs.iter().map(|x| format!("{}{:?}", x.meta.dtype, x.meta.dims())).collect();
    format!("{} {}", node.op.name(), results.join(", "))
}

pub(crate) fn metas(uses: &[Use]) -> Vec<&Meta> {
    uses.iter().map(|x| &x.meta).collect()
}

fn calls<K: ?Sized>(steps: &[Step<K>], places: &[Place]) -> Calls<K> {
    let tensor = |x: &Access| sequence::Tensor { place: places[x.storage], byte_offset: x.byte_offset };
    let call = |step: &Step<K>| sequence::Call {
        kernel: step.kernel.clone(),
        inputs: step.inputs.iter().map(tensor).collect(),
        outputs: step.outputs.iter().map(tensor).collect(),
    };
    steps.iter().map(call).collect()
}

pub(crate) fn part(node: &Node) -> Result<Option<Part>> {
    let (inputs, outputs) = (metas(&node.inputs), metas(&node.outputs));
    let lowering = node.op.lower(&inputs, &outputs)?;
    let kind = Kind::of(&*node.op, &lowering, &inputs, &outputs);
    Ok(kind.map(|kind| Part::new(&*node.op, kind, &inputs, &outputs)))
}

pub(crate) fn access(x: &Use) -> Access {
    Access { storage: x.value, byte_offset: x.byte_offset() }
}

pub(crate) fn accesses(uses: &[Use]) -> Vec<Access> {
    uses.iter().map(access).collect()
}
