//! A graph that is ready to run, and its runs.

use std::sync::Arc;
use std::time::Duration;

use opforge::{Device, Error, Meta, Result, Tensor, no_grad};

use crate::graph::{Graph, Origin, Use};
use crate::inside::{Passing, Stage};
use crate::piece::{self, Piece, Work, pieces};
use crate::run::GRAPH;
use crate::world::Read;

/// A graph that has been made ready to run.
pub struct Program {
    /// As it was before calls were joined.
    graph: Graph,
    /// The arguments and captured values that it uses, and whether it changes them.
    given: Vec<(usize, bool)>,
    pieces: Vec<Piece>,
    stages: Vec<Stage>,
    passing: Vec<Passing>,
    memory: usize,
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
        let pieces = pieces(&mut self, options)?;
        self.forget_unused();
        let (writes, reads) = (self.writes(), self.read());
        let is_given = |value: &usize| !self.is_made(*value) && (reads[*value] || writes[*value] > 0);
        let given = (0..self.values.len()).filter(is_given).map(|value| (value, writes[value] > 0)).collect();
        let (stages, passing, memory) = piece::inside(&self, &pieces);
        Ok(Program { graph: self, given, pieces, stages, passing, memory })
    }
}

impl Program {
    /// Computes the results for these arguments, which must have the examples' shapes, dtypes and strides.
    ///
    /// # Errors
    /// Other arguments; what kernels find in elements, or memory that cannot be had: the error names the call. Those of functions that it calls.
    pub fn run(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.check(arguments)?;
        no_grad(|| match &self.pieces[..] {
            [Piece { work: Work::Kernel(all), .. }] => all.run(arguments),
            pieces => piece::run(&self.graph, pieces, arguments),
        })
    }

    /// Whether arguments have the shapes, dtypes and strides that the program was made for, and what the traced function has read is what it was.
    pub fn accepts(&self, arguments: &[&Tensor]) -> bool {
        self.fits(arguments) && self.graph.reads.iter().all(Read::is_unchanged)
    }

    /// Whether arguments have the shapes, dtypes and strides that the program was made for.
    pub fn fits(&self, arguments: &[&Tensor]) -> bool {
        self.graph.inputs.len() == arguments.len() && self.begins_with(arguments)
    }

    /// As [`Program::fits`], of the first arguments.
    pub(crate) fn begins_with(&self, arguments: &[&Tensor]) -> bool {
        let same = |(own, given): (&Use, &&Tensor)| {
            let (a, b) = (&own.meta.layout, given.layout());
            // Where there is one element only, no stride matters.
            let mut strides = a.dims().iter().zip(a.stride()).zip(b.stride());
            own.meta.dtype == given.dtype()
                && a.shape() == b.shape()
                && (a.elem_count() == 0 || strides.all(|((len, a), b)| *len == 1 || a == b))
                && *given.device() == self.graph.device
        };
        self.graph.inputs.iter().zip(arguments).all(same)
    }

    /// Whether memory that a run changes is that of several of these arguments, or of one and of something captured. One kernel cannot run then, which
    /// knows each piece of memory by one name: [`Program::run`] refuses it. Calls one by one can.
    pub fn shares_changed(&self, arguments: &[&Tensor]) -> bool {
        if !self.given.iter().any(|(_, is_changed)| *is_changed) {
            return false;
        }
        let storage = |&(value, _): &(usize, bool)| match &self.graph.values[value].origin {
            Origin::Input(number) => Some(Arc::as_ptr(arguments[*number].storage())),
            Origin::Captured(captured) => captured.tensor().map(|tensor| Arc::as_ptr(tensor.storage())),
            _ => None,
        };
        let storages: Vec<_> = self.given.iter().map(storage).collect();
        let is_shared = |storage| storages.iter().filter(|other| **other == storage).count() > 1;
        self.given.iter().zip(&storages).any(|((_, is_changed), storage)| *is_changed && is_shared(*storage))
    }

    /// Where its tensors are.
    pub fn device(&self) -> Device {
        self.graph.device
    }

    /// The kernels and calls of functions, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// What passes between kernels.
    pub fn passing(&self) -> &[Passing] {
        &self.passing
    }

    /// The time that each kernel took in what `run` ran of the program.
    pub(crate) fn timed(&self, run: impl FnOnce() -> Result<()>) -> Result<Vec<Duration>> {
        let watches = || self.pieces.iter().map(|piece| piece.work.watch());
        watches().for_each(|watch| watch.start());
        let outcome = run();
        let times = watches().flat_map(|watch| watch.stop()).collect();
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
        if self.fits(arguments) {
            let given = "changed since a function read it that was traced";
            return Err(Error::value(GRAPH, "captured", given, "what it was, or a new trace"));
        }
        let text = |metas: Vec<&Meta>| {
            metas.iter().map(|m| format!("{}{:?}", m.dtype, m.dims())).collect::<Vec<_>>().join(", ")
        };
        let given = text(arguments.iter().map(|t| t.meta()).collect());
        Err(Error::value(GRAPH, "arguments", given, text(self.graph.inputs.iter().map(|x| &x.meta).collect())))
    }
}

impl std::fmt::Display for Program {
    /// The graph as it was before calls were joined.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.graph.fmt(f)
    }
}
