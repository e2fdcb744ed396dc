//! A graph that is ready to run, and its runs.

use std::sync::Arc;
use std::time::Duration;

use opforge::dispatch::{arranged, dispatch, dispatch_into};
use opforge::{DType, Device, Error, Layout, Meta, Result, Tensor, no_grad};
use opforge_runtime::sequence::Stopwatch;
use opforge_runtime::{Generator, Prepack, Storage};

use crate::graph::{Graph, Origin, Use};
use crate::inside::{Passing, Stage};
use crate::kernel::Carried;
use crate::run::{GRAPH, Run};

/// A graph that has been made ready to run.
pub struct Program {
    operator: Run,
    /// As it was before calls were joined.
    graph: Graph,
    /// What the kernel reads or changes that is not its own, in its order.
    given: Vec<Given>,
    /// What it changes, by numbers of `given`; those are its last outputs.
    changed: Vec<usize>,
    /// The values of its other outputs.
    made: Vec<usize>,
    stages: Vec<Stage>,
    passing: Vec<Passing>,
    memory: usize,
    watch: Arc<Stopwatch>,
}

/// Memory that a run is given.
enum Given {
    Input { value: usize, number: usize, bytes: usize },
    Captured { value: usize, bytes: Tensor },
    Key { value: usize },
    Packed { value: usize, weight: Tensor, prepack: Prepack },
}

impl Given {
    fn value(&self) -> usize {
        match self {
            Given::Input { value, .. } | Given::Captured { value, .. } => *value,
            Given::Key { value } | Given::Packed { value, .. } => *value,
        }
    }
}

/// What is done to a graph before it runs. Results are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Calls whose results nobody reads are left out.
    pub dead_code: bool,
    /// Calls whose results are there already are left out: copies, what the call before did undone.
    pub laws: bool,
    /// Equal calls are made once.
    pub common_calls: bool,
    /// Calls of the traced function's own numbers are made when the program is: as much memory as their results, up to 4 MiB each.
    pub constants: bool,
    /// Calls that make little come as early as they can, so that they do not stand between those that go together.
    pub scheduling: bool,
    /// Calls that go together are one kernel.
    pub fusion: bool,
    /// Products of few rows, and convolutions of few positions, keep weights that no call changes as their kernels read them: as much memory again as the
    /// weights.
    pub prepacking: bool,
}

impl Options {
    /// Everything.
    pub const ALL: Options = Options {
        dead_code: true,
        laws: true,
        common_calls: true,
        constants: true,
        scheduling: true,
        fusion: true,
        prepacking: true,
    };
}

impl Default for Options {
    fn default() -> Self {
        Options::ALL
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
        let graph = if options.laws { self.without_redundant_calls() } else { self };
        let graph = if options.common_calls { graph.without_common_calls() } else { graph };
        let graph = if options.constants { graph.without_constant_calls()? } else { graph };
        let graph = if options.dead_code { graph.without_dead_code() } else { graph };
        let graph = if options.scheduling { graph.with_small_calls_first() } else { graph };
        graph.prepare(options)
    }

    fn prepare(mut self, options: Options) -> Result<Program> {
        let Carried { kernel, given, made, changed, stages, passing, memory, watch } = self.carried(options)?;
        let bytes = |value: &usize| self.values[*value].bytes;
        let outputs = made.iter().map(bytes).chain(changed.iter().map(|&number| bytes(&given[number])));
        let operator =
            Run::new(self.device, kernel, given.iter().map(bytes).collect(), outputs.collect(), changed.clone());
        let given = given.into_iter().map(|value| self.given(value)).collect::<Result<Vec<Given>>>()?;
        self.forget_unused();
        Ok(Program { operator, graph: self, given, changed, made, stages, passing, memory, watch })
    }

    /// What a run is given as this value, which it does not make.
    fn given(&self, value: usize) -> Result<Given> {
        let bytes = self.values[value].bytes;
        Ok(match &self.values[value].origin {
            Origin::Input(number) => Given::Input { value, number: *number, bytes },
            Origin::Captured(captured) => Given::Captured { value, bytes: flat(captured.storage()?, 0, bytes)? },
            Origin::Key => Given::Key { value },
            Origin::Packed(packing) => {
                let Origin::Captured(captured) = &self.values[packing.weight.value].origin else {
                    return Err(Error::msg("only what was captured is packed"));
                };
                let (start, all) = (packing.weight.byte_offset(), self.values[packing.weight.value].bytes);
                let weight = flat(captured.storage()?, start, all - start)?;
                Given::Packed { value, weight, prepack: packing.prepack.clone() }
            }
            Origin::Made => return Err(Error::msg("a program is not given what it makes")),
        })
    }
}

/// Bytes of a storage, as a tensor of bytes.
fn flat(storage: &Arc<Storage>, start: usize, bytes: usize) -> Result<Tensor> {
    Tensor::over_storage(storage.clone(), DType::U8, Layout::contiguous_with_offset(bytes, start))
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
        self.graph.outputs.iter().map(|output| self.result(output, &given, &made, arguments)).collect()
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
                && *given.device() == self.graph.device
        };
        self.graph.inputs.len() == arguments.len() && self.graph.inputs.iter().zip(arguments).all(same)
    }

    /// Whether memory that a run changes is that of several of these arguments, or of one and of something captured. One kernel cannot run then, which
    /// knows each piece of memory by one name: [`Program::run`] refuses it. Calls one by one can.
    pub fn shares_changed(&self, arguments: &[&Tensor]) -> bool {
        if self.changed.is_empty() {
            return false;
        }
        let storage = |given: &Given| match given {
            Given::Input { number, .. } => Some(Arc::as_ptr(arguments[*number].storage())),
            Given::Captured { bytes, .. } => Some(Arc::as_ptr(bytes.storage())),
            Given::Key { .. } | Given::Packed { .. } => None,
        };
        let storages: Vec<_> = self.given.iter().map(storage).collect();
        let is_shared = |&i: &usize| storages.iter().filter(|other| **other == storages[i]).count() > 1;
        self.changed.iter().any(is_shared)
    }

    /// Where its tensors are.
    pub fn device(&self) -> Device {
        self.graph.device
    }

    /// The kernels, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// What passes between kernels.
    pub fn passing(&self) -> &[Passing] {
        &self.passing
    }

    /// The time that each kernel took in what `run` ran of the program.
    pub(crate) fn timed(&self, run: impl FnOnce() -> Result<()>) -> Result<Vec<Duration>> {
        self.watch.start();
        let outcome = run();
        let times = self.watch.stop();
        outcome.map(|()| times)
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
        Err(Error::value(GRAPH, "arguments", given, text(self.graph.inputs.iter().map(|x| &x.meta).collect())))
    }

    fn bytes_of(&self, given: &Given, arguments: &[&Tensor]) -> Result<Tensor> {
        match given {
            Given::Input { number, bytes, .. } => {
                let argument = arguments[*number];
                let start = argument.layout().start_offset() * argument.dtype().size_in_bytes();
                flat(argument.storage(), start, *bytes)
            }
            Given::Captured { bytes, .. } => Ok(bytes.clone()),
            Given::Packed { weight, prepack, .. } => arranged(weight, prepack),
            Given::Key { .. } => {
                let key = Tensor::from_vec(Generator::global().next_key().to_vec(), 2, &self.graph.device)?;
                flat(key.storage(), 0, key.storage().nbytes())
            }
        }
    }

    /// Runs the kernel; gives the tensors of bytes that it made.
    fn launch(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        if self.operator.outputs().is_empty() {
            // All results are arguments, or were there before.
            return Ok(Vec::new());
        }
        if self.changed.is_empty() {
            return Ok(dispatch(&self.operator, inputs)?.into_iter().collect());
        }
        let sizes = &self.operator.outputs()[..self.made.len()];
        let made = sizes.iter().map(|&bytes| flat(&Storage::new(self.graph.device, bytes)?, 0, bytes));
        let made = made.collect::<Result<Vec<Tensor>>>()?;
        let changed = self.changed.iter().map(|&i| inputs[i]);
        dispatch_into(&self.operator, inputs, &made.iter().chain(changed).collect::<Vec<_>>())?;
        Ok(made)
    }

    fn result(&self, output: &Use, given: &[Tensor], made: &[Tensor], arguments: &[&Tensor]) -> Result<Tensor> {
        let layout = output.meta.layout.clone();
        if let Some(i) = self.made.iter().position(|&value| value == output.value) {
            return Tensor::over_storage(made[i].storage().clone(), output.meta.dtype, layout);
        }
        let known = self.graph.inputs.iter().position(|input| input.value == output.value);
        if let Some(number) = known {
            let argument = arguments[number];
            let before = argument.layout().start_offset() * argument.dtype().size_in_bytes();
            let start = before / output.meta.dtype.size_in_bytes() + layout.start_offset();
            let layout = Layout::new(layout.shape().clone(), layout.stride().into(), start, GRAPH)?;
            return Tensor::over_storage(argument.storage().clone(), output.meta.dtype, layout);
        }
        let captured = self.given.iter().position(|given| given.value() == output.value);
        let storage = captured.map(|i| given[i].storage()).ok_or_else(|| Error::msg("a result that nothing makes"))?;
        Tensor::over_storage(storage.clone(), output.meta.dtype, layout)
    }
}

impl std::fmt::Display for Program {
    /// The graph as it was before calls were joined.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.graph.fmt(f)
    }
}
