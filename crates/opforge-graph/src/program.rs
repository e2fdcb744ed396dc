//! A graph as one kernel, and its runs.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use opforge::dispatch::{dispatch, dispatch_into};
use opforge::fusion::{Access, Chain, Kind, Part};
use opforge::operator::{AxisMap, Lowering, Metas, Operator};
use opforge::{DType, Device, Error, Layout, Meta, Result, Tensor, no_grad};
use opforge_cpu::program::Place;
use opforge_cpu::program::sequence::{self, Sequence};
use opforge_runtime::{Generator, HostKernel, Storage};
use smallvec::SmallVec;

use crate::graph::{Graph, Node, Origin, Use};
use crate::memory::{self, Lifetime};

const GRAPH: &str = "graph";

/// A graph that has been made ready to run.
pub struct Program {
    operator: Run,
    inputs: Vec<Use>,
    outputs: Vec<Use>,
    /// What the kernel reads or changes that is not its own, in its order.
    given: Vec<Given>,
    /// What it changes, by numbers of `given`; those are its last outputs.
    changed: Vec<usize>,
    /// The values of its other outputs.
    made: Vec<usize>,
    fusions: Vec<usize>,
    memory: usize,
    text: String,
}

/// Memory that a run is given.
enum Given {
    Input { value: usize, number: usize, bytes: usize },
    Captured { value: usize, bytes: Tensor },
    Key { value: usize },
}

impl Given {
    fn value(&self) -> usize {
        match self {
            Given::Input { value, .. } | Given::Captured { value, .. } | Given::Key { value } => *value,
        }
    }
}

/// What one kernel carries out: some calls of the graph.
struct Step {
    nodes: std::ops::Range<usize>,
    kernel: Arc<dyn HostKernel>,
    inputs: Vec<Access>,
    outputs: Vec<Access>,
}

/// What is done to a graph before it runs. Results are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Calls whose results nobody reads are left out.
    pub dead_code: bool,
    /// Equal calls are made once.
    pub common_calls: bool,
    /// Calls that go together are one kernel.
    pub fusion: bool,
}

impl Default for Options {
    /// Everything.
    fn default() -> Self {
        Options { dead_code: true, common_calls: true, fusion: true }
    }
}

impl Graph {
    /// The program: without what nobody reads, equal calls made one, and those that go together joined.
    ///
    /// # Errors
    /// What operators refuse of these tensors.
    pub fn compile(self) -> Result<Program> {
        self.compile_with(Options::default())
    }

    /// As [`Graph::compile`], with some of it only.
    ///
    /// # Errors
    /// As [`Graph::compile`].
    pub fn compile_with(self, options: Options) -> Result<Program> {
        let graph = if options.common_calls { self.without_common_calls() } else { self };
        let graph = if options.dead_code { graph.without_dead_code() } else { graph };
        graph.prepare(options.fusion)
    }

    fn prepare(self, fusion: bool) -> Result<Program> {
        let text = self.to_string();
        let steps = self.steps(fusion)?;
        let lives = self.lives(&steps);
        let is_output = |value: usize| self.outputs.iter().any(|output| output.value == value);
        let given: Vec<Given> = (0..self.values.len()).filter_map(|value| self.given(value, &steps)).collect();
        let is_changed = |value: usize| self.nodes.iter().flat_map(|node| &node.outputs).any(|x| x.value == value);
        let changed: Vec<usize> = (0..given.len()).filter(|&i| is_changed(given[i].value())).collect();
        let made: Vec<usize> =
            (0..self.values.len()).filter(|&value| self.is_made(value) && is_output(value)).collect();
        let locals: Vec<usize> = (0..self.values.len())
            .filter(|&value| lives[value].is_some() && self.is_made(value) && !is_output(value))
            .collect();
        let lifetimes: Vec<Lifetime> = locals.iter().filter_map(|&value| lives[value]).collect();
        let (offsets, memory) = memory::plan(&lifetimes);
        let place = |access: &Access| {
            let of = |values: &[usize]| values.iter().position(|&value| value == access.storage);
            let output = || of(&changed.iter().map(|&i| given[i].value()).collect::<Vec<_>>());
            let place = match (of(&made), output(), of(&locals)) {
                (Some(i), _, _) => Place::Output(i),
                (_, Some(i), _) => Place::Output(made.len() + i),
                (_, _, Some(i)) => Place::Local(offsets[i]),
                _ => Place::Input(given.iter().position(|given| given.value() == access.storage).unwrap_or(usize::MAX)),
            };
            sequence::Tensor { place, byte_offset: access.byte_offset }
        };
        let fusions = steps.iter().map(|step| step.nodes.len()).filter(|calls| *calls > 1).collect();
        let owners: Vec<_> = steps
            .iter()
            .map(|step| (self.nodes[step.nodes.start].op.name(), self.nodes[step.nodes.start].at))
            .collect();
        let calls = steps.into_iter().map(|step| sequence::Call {
            kernel: step.kernel,
            inputs: step.inputs.iter().map(place).collect(),
            outputs: step.outputs.iter().map(place).collect(),
        });
        let blame = move |call: usize, error: Error| {
            let (op, at) = owners[call];
            Error::Deferred { op: op.into(), at, caller: None, inner: Box::new(error) }
        };
        let tensors = (given.len(), made.len() + changed.len());
        let kernel: Arc<dyn HostKernel> = Arc::new(Sequence::new(calls.collect(), memory, tensors, blame)?);
        let bytes = |value: usize| self.values[value].bytes;
        let outputs = made.iter().map(|&value| bytes(value)).chain(changed.iter().map(|&i| bytes(given[i].value())));
        let operator = Run(Arc::new(Running {
            kernel,
            inputs: given.iter().map(|given| bytes(given.value())).collect(),
            outputs: outputs.collect(),
            changed: changed.clone(),
        }));
        Ok(Program {
            operator,
            inputs: self.inputs,
            outputs: self.outputs,
            given,
            changed,
            made,
            fusions,
            memory,
            text,
        })
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

    /// What a run is given as this value, if it reads or changes it.
    fn given(&self, value: usize, steps: &[Step]) -> Option<Given> {
        let used = || steps.iter().any(|step| step.inputs.iter().chain(&step.outputs).any(|x| x.storage == value));
        let bytes = self.values[value].bytes;
        match &self.values[value].origin {
            Origin::Made => None,
            _ if !used() => None,
            Origin::Input(number) => Some(Given::Input { value, number: *number, bytes }),
            Origin::Captured(captured) => {
                flat(captured.storage(), 0, bytes).ok().map(|bytes| Given::Captured { value, bytes })
            }
            Origin::Key => Some(Given::Key { value }),
        }
    }
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

/// Bytes of a storage, as a tensor of bytes.
fn flat(storage: &Arc<Storage>, start: usize, bytes: usize) -> Result<Tensor> {
    Tensor::from_storage(storage.clone(), DType::U8, Layout::contiguous_with_offset(bytes, start))
}

impl Program {
    /// Computes the results for these arguments, which must have the examples' shapes, dtypes and strides.
    ///
    /// # Errors
    /// Other arguments; what kernels find in elements, or memory that cannot be had: the error names the call.
    pub fn run(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.check(arguments)?;
        let given = self.given.iter().map(|given| self.bytes_of(given, arguments)).collect::<Result<Vec<Tensor>>>()?;
        let inputs: Vec<&Tensor> = given.iter().collect();
        let made = no_grad(|| self.launch(&inputs))?;
        self.outputs.iter().map(|output| self.result(output, &given, &made, arguments)).collect()
    }

    /// Whether arguments have the shapes, dtypes and strides that the program was made for.
    pub fn accepts(&self, arguments: &[&Tensor]) -> bool {
        let same = |(own, given): (&Use, &&Tensor)| {
            let (a, b) = (&own.meta.layout, given.layout());
            // Where there is one element only, no stride matters.
            let mut strides = a.dims().iter().zip(a.stride()).zip(b.stride());
            own.meta.dtype == given.dtype()
                && a.shape() == b.shape()
                && (a.elem_count() == 0 || strides.all(|((len, a), b)| *len == 1 || a == b))
                && given.device().is_cpu()
        };
        self.inputs.len() == arguments.len() && self.inputs.iter().zip(arguments).all(same)
    }

    /// The numbers of calls that were joined to one kernel each.
    pub fn fusions(&self) -> &[usize] {
        &self.fusions
    }

    /// The bytes that pass between calls in memory, besides arguments and results.
    pub fn memory(&self) -> usize {
        self.memory
    }

    fn check(&self, arguments: &[&Tensor]) -> Result<()> {
        if self.accepts(arguments) {
            return Ok(());
        }
        let text = |metas: Vec<&Meta>| {
            metas.iter().map(|m| format!("{}{:?}", m.dtype, m.dims())).collect::<Vec<_>>().join(", ")
        };
        let given = text(arguments.iter().map(|t| t.meta()).collect());
        Err(Error::value(GRAPH, "arguments", given, text(self.inputs.iter().map(|x| &x.meta).collect())))
    }

    fn bytes_of(&self, given: &Given, arguments: &[&Tensor]) -> Result<Tensor> {
        match given {
            Given::Input { number, bytes, .. } => {
                let argument = arguments[*number];
                let start = argument.layout().start_offset() * argument.dtype().size_in_bytes();
                flat(argument.storage(), start, *bytes)
            }
            Given::Captured { bytes, .. } => Ok(bytes.clone()),
            Given::Key { .. } => {
                let key = Tensor::from_vec(Generator::global().next_key().to_vec(), 2, &Device::Cpu)?;
                flat(key.storage(), 0, key.storage().nbytes())
            }
        }
    }

    /// Runs the kernel; gives the tensors of bytes that it made.
    fn launch(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        if self.operator.0.outputs.is_empty() {
            // All results are arguments, or were there before.
            return Ok(Vec::new());
        }
        if self.changed.is_empty() {
            return Ok(dispatch(&self.operator, inputs)?.into_iter().collect());
        }
        let sizes = &self.operator.0.outputs[..self.made.len()];
        let made = sizes.iter().map(|&bytes| flat(&Storage::new(Device::Cpu, bytes)?, 0, bytes));
        let made = made.collect::<Result<Vec<Tensor>>>()?;
        let changed = self.changed.iter().map(|&i| inputs[i]);
        dispatch_into(&self.operator, inputs, &made.iter().chain(changed).collect::<Vec<_>>())?;
        Ok(made)
    }

    fn result(&self, output: &Use, given: &[Tensor], made: &[Tensor], arguments: &[&Tensor]) -> Result<Tensor> {
        let layout = output.meta.layout.clone();
        if let Some(i) = self.made.iter().position(|&value| value == output.value) {
            return Tensor::from_storage(made[i].storage().clone(), output.meta.dtype, layout);
        }
        let known = self.inputs.iter().position(|input| input.value == output.value);
        if let Some(number) = known {
            let argument = arguments[number];
            let start = argument.layout().start_offset() + layout.start_offset();
            let layout = Layout::new(layout.shape().clone(), layout.stride().into(), start, GRAPH)?;
            return Tensor::from_storage(argument.storage().clone(), output.meta.dtype, layout);
        }
        let captured = self.given.iter().position(|given| given.value() == output.value);
        let storage = captured.map(|i| given[i].storage()).ok_or_else(|| Error::msg("a result that nothing makes"))?;
        Tensor::from_storage(storage.clone(), output.meta.dtype, layout)
    }
}

impl std::fmt::Display for Program {
    /// The graph as it was before calls were joined.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The operator that a program is for those who run it. Its tensors are storages, as bytes.
#[derive(Clone)]
struct Run(Arc<Running>);

struct Running {
    kernel: Arc<dyn HostKernel>,
    /// Bytes of each input and output.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// The inputs that are the last outputs too.
    changed: Vec<usize>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Graph")
    }
}
impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Run {}
impl Hash for Run {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl Operator for Run {
    fn name(&self) -> &'static str {
        GRAPH
    }

    fn device(&self) -> Option<Device> {
        Some(Device::Cpu)
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        if !inputs.iter().map(|meta| meta.elem_count()).eq(self.0.inputs.iter().copied()) {
            return Err(Error::value(GRAPH, "inputs", "other memory", "the graph's"));
        }
        Ok(self.0.outputs.iter().map(|&bytes| Meta::contiguous(DType::U8, bytes)).collect())
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let unsplit = |count: usize| vec![SmallVec::from_elem(None, 1); count];
        AxisMap { inputs: unsplit(inputs.len()), outputs: unsplit(self.0.outputs.len()), roles: SmallVec::new() }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Opaque(self.0.kernel.clone()))
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn overwrites(&self, i: usize) -> bool {
        self.0.changed.contains(&i)
    }

    fn has_effects(&self) -> bool {
        true
    }
}
