//! Graphs for tensors of many sizes: traced for some, written down with names for what is free, and made ready for each set of sizes when it is called.

mod bounds;
mod points;
mod save;
mod shapes;

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use opforge::{DType, Device, Error, Layout, Result, Tensor};

use crate::graph::Graph;
use crate::pattern::expression::Expression;
use crate::pattern::{Part, Pattern, Sample, Says, Size, unify};
use crate::program::Program;
use crate::trace::trace_like;
use crate::world::Read;

use bounds::Bounds;
use shapes::Shapes;

/// The name that errors of graphs bear.
const GRAPH: &str = "graph";
/// Sets of sizes that programs are kept for.
const MOST: usize = 64;

/// A graph some of whose lengths are free.
///
/// ```
/// use opforge::{DType, Device, Tensor};
/// use opforge_graph::{DynamicGraph, Size};
///
/// let weight = Tensor::new(&[[1f32, 2.0, 3.0]], &Device::Cpu)?;
/// let x = Tensor::ones((4, 3), DType::F32, &Device::Cpu)?;
/// // Dimension 0 of argument 0 may have any length.
/// let rows = (0, 0, "rows");
/// let graph = DynamicGraph::trace(&[&x], &[Size::any("rows")], &[rows], |x| {
///     Ok(vec![x[0].broadcast_mul(&weight)?.sum(1)?])
/// })?;
/// assert!(graph.to_string().contains("graph(%0 f32[{rows}, 3])"));
///
/// let x = Tensor::ones((5, 3), DType::F32, &Device::Cpu)?;
/// assert_eq!(graph.run(&[&x])?[0].to_vec1::<f32>()?, [6.0; 5]);
/// # Ok::<(), opforge::Error>(())
/// ```
///
/// Its text is that of a graph, with a line for each size, and expressions of them in braces where numbers depend on sizes ([`crate::text`]).
pub struct DynamicGraph {
    pattern: Pattern,
    /// What it captured, by name.
    weights: HashMap<String, Tensor>,
    device: Device,
    at: &'static Location<'static>,
    programs: Mutex<Vec<(Vec<usize>, Arc<Program>)>>,
}

impl Size {
    /// A size that may be anything that the traced function accepts.
    pub fn any(name: &str) -> Size {
        Size { name: name.into(), min: 0, max: usize::MAX }
    }
}

/// A length that is free: of an argument, its dimension, and what it is: the name of a size, or an expression of one, as `2*rows+1`.
pub type Free<'a> = (usize, usize, &'a str);

impl DynamicGraph {
    fn of(
        pattern: Pattern,
        weights: HashMap<String, Tensor>,
        device: Device,
        at: &'static Location<'static>,
    ) -> DynamicGraph {
        DynamicGraph { pattern, weights, device, at, programs: Mutex::default() }
    }

    /// The graph of a function for tensors like these, whose lengths may differ from these where they are free.
    ///
    /// The function is traced some twenty times for each size, for different values of it: what differs must be expressions of the sizes, and the
    /// calls the same. Where a size has no least or most, the least and most that the function accepts are looked for, up to a million; sizes of 0 and 1
    /// are part of it if the results then have the shapes that those of other sizes have. Nothing is computed.
    ///
    /// # Errors
    /// Those of the function; [`Error::Value`] where its calls depend on the sizes, or numbers that are no expression of them; names of no size, and
    /// lengths of examples that are none of theirs.
    #[track_caller]
    pub fn trace(
        examples: &[&Tensor],
        sizes: &[Size],
        free: &[Free<'_>],
        f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    ) -> Result<DynamicGraph> {
        Self::trace_named(examples, sizes, free, &[], f)
    }

    /// As [`DynamicGraph::trace`], with names for what it captures of these tensors.
    ///
    /// # Errors
    /// As [`DynamicGraph::trace`].
    #[track_caller]
    pub fn trace_named(
        examples: &[&Tensor],
        sizes: &[Size],
        free: &[Free<'_>],
        names: &[(&str, &Tensor)],
        f: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>,
    ) -> Result<DynamicGraph> {
        let at = Location::caller();
        let device = examples.first().map_or(Device::Cpu, |example| *example.device());
        if sizes.is_empty() && free.is_empty() {
            let graph = read_nothing(crate::trace::trace(examples, f)?)?.with_names(names.iter().copied());
            let graph = DynamicGraph::of(graph.pattern(), graph.weights()?, device, at);
            return graph.program(&[]).map(|_| graph);
        }
        let shapes = Shapes::new(examples, sizes, free)?;
        let traced = |values: &[usize]| {
            Ok(read_nothing(trace_like(&shapes.metas(values)?, device, &f)?)?.with_names(names.iter().copied()))
        };
        let mut bounds = Bounds::find(sizes, &shapes.examples, &traced)?;
        let (points, are_all) = points::points(&bounds.sizes, &bounds.base);
        let (samples, weights) = sampled(points, &bounds, &traced)?;
        let pattern = unify(&samples, bounds.sizes.clone(), are_all)?;
        let mut graph = DynamicGraph::of(pattern, weights, device, at);
        bounds.look_below(sizes, &graph, &traced)?;
        graph.pattern.sizes = bounds.sizes;
        // What cannot run is told now.
        graph.program(&bounds.base).map(|_| graph)
    }

    /// The sizes that are free, in the order of their values.
    pub fn sizes(&self) -> &[Size] {
        &self.pattern.sizes
    }

    /// How many arguments there are.
    pub fn arguments(&self) -> usize {
        self.pattern.inputs.len()
    }

    /// How many results there are.
    pub fn results(&self) -> usize {
        self.pattern.outputs.len()
    }

    /// What it captured, by name.
    pub fn weights(&self) -> &HashMap<String, Tensor> {
        &self.weights
    }

    /// The graph for these sizes.
    ///
    /// # Errors
    /// For sizes that the graph is not for, and what operators refuse of such tensors.
    pub fn graph(&self, sizes: &[usize]) -> Result<Graph> {
        self.unbound(sizes)?.bind(&self.weights)
    }

    /// As [`DynamicGraph::graph`], with what it captured still to be bound.
    ///
    /// # Errors
    /// As [`DynamicGraph::graph`].
    pub fn unbound(&self, sizes: &[usize]) -> Result<Graph> {
        self.pattern.fill(sizes, self.device, self.at)
    }

    /// The program for these sizes, which is kept.
    ///
    /// # Errors
    /// As [`DynamicGraph::graph`].
    pub fn program(&self, sizes: &[usize]) -> Result<Arc<Program>> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = programs.iter().position(|(own, _)| own == sizes) {
            programs[..=known].rotate_right(1);
            return Ok(programs[0].1.clone());
        }
        let program = Arc::new(self.graph(sizes)?.compile()?);
        programs.insert(0, (sizes.to_vec(), program.clone()));
        programs.truncate(MOST);
        Ok(program)
    }

    /// The results for these arguments. Their order of elements is that of the examples, or, where lengths are free, that of rows; tensors of another one are
    /// copied, except where the graph changes or returns them.
    ///
    /// # Errors
    /// Other arguments; what kernels find in elements, or memory that cannot be had.
    pub fn run(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        let program = self.program(&self.sizes_of(arguments)?)?;
        if program.accepts(arguments) {
            return program.run(arguments);
        }
        let arranged = self.pattern.inputs.iter().zip(arguments).map(|(part, argument)| {
            let is_to_copy = part.is.stride.is_none() && !self.pattern.hands_out(part.value);
            if is_to_copy { argument.detach().contiguous() } else { Ok((*argument).clone()) }
        });
        let arranged = arranged.collect::<Result<Vec<Tensor>>>()?;
        program.run(&arranged.iter().collect::<Vec<_>>())
    }

    /// The sizes of a call's arguments.
    fn sizes_of(&self, arguments: &[&Tensor]) -> Result<Vec<usize>> {
        let inputs = &self.pattern.inputs;
        let same_kind = |(part, x): (&Part, &&Tensor)| part.is.dtype == x.dtype() && part.is.dims.len() == x.rank();
        if inputs.len() != arguments.len() || !inputs.iter().zip(arguments).all(same_kind) {
            return Err(self.other(arguments));
        }
        let lengths = inputs.iter().zip(arguments).flat_map(|(part, x)| part.is.dims.iter().zip(x.dims()));
        let sizes = self.pattern.sizes.iter().map(|size| {
            let found = lengths.clone().find_map(|(expression, &length)| expression.solved(&size.name, length));
            // A size of one value appears nowhere.
            let found = found.or_else(|| (size.min == size.max).then_some(size.min));
            found.filter(|found| (size.min..=size.max).contains(found))
        });
        let sizes = sizes.collect::<Option<Vec<usize>>>().ok_or_else(|| self.other(arguments))?;
        let fits =
            |(expression, &length): (&Expression, &usize)| self.pattern.number(expression, &sizes) == Some(length);
        if lengths.into_iter().all(fits) { Ok(sizes) } else { Err(self.other(arguments)) }
    }

    #[cold]
    fn other(&self, arguments: &[&Tensor]) -> Error {
        let given = arguments.iter().map(|x| format!("{}{:?}", x.dtype(), x.dims())).collect::<Vec<_>>();
        let accepted = self.pattern.inputs.iter().map(|part| part.is.to_string());
        let sizes = self.pattern.sizes.iter().map(Size::to_string);
        let accepted = accepted.chain(sizes).collect::<Vec<_>>().join(", ");
        Error::value(GRAPH, "arguments", given.join(", "), accepted)
    }
}

impl Display for DynamicGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)
    }
}

impl Pattern {
    /// Whether a value is changed by a call or part of the results.
    fn hands_out(&self, value: usize) -> bool {
        let written = self.lines.iter().flat_map(|line| match &line.says {
            Says::Call { outputs, .. } => &outputs[..],
            _ => &[],
        });
        written.chain(&self.outputs).any(|part| part.value == value)
    }
}

/// Refuses a graph whose function has read elements of what it captured: who changes these would not find that in what is saved.
fn read_nothing(graph: Graph) -> Result<Graph> {
    if graph.reads.iter().all(Read::is_gone) {
        return Ok(graph);
    }
    let given = "a tensor whose elements are read while the function is traced";
    Err(Error::value(GRAPH, "captured", given, "tensors that calls read: elements are there when a graph runs"))
}

/// What is written down for each of these sizes, and what all capture.
fn sampled(
    points: Vec<Vec<usize>>,
    bounds: &Bounds,
    traced: &dyn Fn(&[usize]) -> Result<Graph>,
) -> Result<(Vec<Sample>, HashMap<String, Tensor>)> {
    let (mut samples, mut weights) = (Vec::new(), None);
    for sizes in points {
        let own = traced(&sizes).and_then(|graph| {
            let own = graph.weights()?;
            same_constants(weights.get_or_insert_with(|| own.clone()), &own)?;
            Ok(graph.pattern())
        });
        let pattern = own.map_err(|error| bounds.fails(&sizes, error))?;
        samples.push(Sample { sizes, pattern });
    }
    Ok((samples, weights.unwrap_or_default()))
}

/// Refuses what the function made of numbers of its own that depend on the sizes.
fn same_constants(first: &HashMap<String, Tensor>, other: &HashMap<String, Tensor>) -> Result<()> {
    for (name, a) in first {
        let Some(b) = other.get(name) else { continue };
        if a.shares_storage(b) {
            continue;
        }
        let bytes = |x: &Tensor| {
            let layout = Layout::contiguous(x.storage().nbytes());
            Tensor::over_storage(x.storage().clone(), DType::U8, layout)?.to_vec1::<u8>()
        };
        if a.meta() != b.meta() || bytes(a)? != bytes(b)? {
            let given = format!("a tensor of {:?} that the function makes of numbers, not by calls", b.dims());
            return Err(Error::value(GRAPH, "captured", given, "one that does not depend on the sizes"));
        }
    }
    Ok(())
}
