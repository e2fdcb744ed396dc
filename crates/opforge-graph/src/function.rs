//! A traced function as part of programs that record gradients: one program forwards, one backwards.

use std::collections::BTreeSet;
use std::sync::Arc;

use opforge::autograd::{BackwardOptions, SavedTensor, is_freed, is_grad_enabled, leaf_gradients, record_function};
use opforge::{Error, Meta, Result, Tensor, TensorId, no_grad};

use opforge_runtime::vm;

use crate::graph::{Graph, Origin, Use};
use crate::program::{Options, Program};
use crate::recompute::recomputed;
use crate::trace::{Ended, calls, forget_grads, further_argument, takes_grad, trace_all};
use crate::world::Grad;

const GRAPH: &str = "graph";

/// The number of the arguments that stand for gradients of results, until that among the backward program's arguments is known.
const SEED: usize = usize::MAX;

/// What is done to programs between whose runs weights change.
const TRAINING: Options = Options { prepacking: false, ..Options::ALL };

/// A function that has been traced, with its gradient where that is wanted.
///
/// ```
/// use opforge::{Device, Tensor, Var};
/// use opforge_graph::Function;
///
/// let w = Var::new(&[2f32, -1.0], &Device::Cpu)?;
/// let x = Tensor::new(&[3f32, 4.0], &Device::Cpu)?;
/// let function = Function::trace(&[&x], |x| Ok(vec![x[0].mul(&w)?.relu()?]))?;
/// let y = function.call(&[&x])?.remove(0);
/// assert_eq!(y.to_vec1::<f32>()?, [6.0, 0.0]);
/// let gradients = y.sum_all()?.backward()?;
/// assert_eq!(gradients.get(&w).unwrap().to_vec1::<f32>()?, [3.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
pub struct Function {
    forward: Program,
    world: World,
    /// How many of the forward program's results are the function's; then come those for `kept`, and what is saved.
    results: usize,
    /// What the function gave to others when it was traced, as bytes.
    kept: Vec<Tensor>,
    backward: Option<Backward>,
}

/// What was, when the function was traced, and must be when it is called.
struct World {
    /// Whether calls were to be recorded.
    recorded: bool,
    /// Which arguments needed a gradient.
    needs: Vec<bool>,
    /// The gradients that captured tensors kept, where the function took them.
    grads: Vec<(Grad, Tensor)>,
    /// Those of arguments, by their numbers.
    own_grads: Vec<(Grad, usize)>,
}

struct Backward {
    program: Arc<Program>,
    /// What the gradients are of, in the order of the program's results.
    leaves: Vec<Leaf>,
    /// The arguments that the program reads, after what was saved.
    arguments: Vec<usize>,
    /// Captured leaves, which must not be changed between the programs.
    captured: Vec<Tensor>,
    /// Whether each of the function's results has a gradient; those that have are the program's last arguments.
    differentiable: Vec<bool>,
}

enum Leaf {
    Argument(usize),
    Captured(Tensor),
}

/// What a trace tells of gradients.
struct Traced {
    /// How many calls come before the gradients'.
    calls: usize,
    results: usize,
    differentiable: Vec<bool>,
    seeds: Vec<Use>,
    leaves: Vec<Leaf>,
}

impl Function {
    /// Traces `f` on tensors like these. Where recording is on, and an argument or something captured needs a gradient, so does the function's result.
    ///
    /// # Errors
    /// As [`trace`](crate::trace()); for captured results of other calls that need a gradient: they must be arguments.
    pub fn trace(examples: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>) -> Result<Function> {
        Self::trace_and_tidy(examples, f, || {})
    }

    /// As [`Function::trace`]. Where something still holds tensors of the trace, `tidy` is called, which may let go of those that nobody wants: a collector
    /// of garbage. What is then still held is [kept](Function::keeps).
    ///
    /// # Errors
    /// As [`Function::trace`].
    pub fn trace_and_tidy(
        examples: &[&Tensor],
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
        tidy: impl FnOnce(),
    ) -> Result<Function> {
        let needs: Vec<bool> = examples.iter().map(|example| example.requires_grad()).collect();
        let Ended { graph, rest: (traced, own_grads), mut held, grads } = trace_all(examples, |arguments| {
            stand_in(arguments, examples)?;
            let results = f(arguments)?;
            let own_grads = taken_grads(arguments, examples)?;
            let (results, traced) = with_gradients(arguments, results)?;
            Ok((results, (traced, own_grads)))
        })?;
        let grads = grads.into_iter().map(|(leaf, grad)| (Grad::of(grad.as_ref()), leaf)).collect();
        let world = World { recorded: is_grad_enabled(), needs, grads, own_grads };
        if !held.is_empty() {
            tidy();
            held = held.tidied();
        }
        let (values, kept): (Vec<usize>, Vec<Tensor>) = held.values()?.into_iter().unzip();
        refuse_seeds(&graph, &values)?;
        let results = traced.results;
        if traced.leaves.is_empty() {
            let mut graph = graph.with_own_constants();
            graph.also_give(&values);
            return Ok(Function { forward: graph.compile()?, world, results, kept, backward: None });
        }
        let (forward, backward) = split(graph, traced, &values)?;
        let forward = forward.compile_with(TRAINING)?;
        Ok(Function { forward, world, results, kept, backward: Some(backward) })
    }

    /// Whether the function gave tensors that it computes to others when it was traced, or left gradients with leaves. Each call writes what it computes of
    /// them to their memory, which is unusable before; but only the function itself, called by itself, gives others new tensors.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether the function was traced for tensors like these, in a program that records as this does, and what it took of others is what it was: elements
    /// that the host has read, gradients that tensors keep.
    pub fn accepts(&self, arguments: &[&Tensor]) -> bool {
        let World { grads, own_grads, .. } = &self.world;
        self.fits(arguments)
            && self.forward.accepts(arguments)
            && grads.iter().all(|(grad, leaf)| grad.is_kept_by(leaf))
            && own_grads.iter().all(|(grad, number)| grad.is_kept_by(arguments[*number]))
    }

    /// Whether the function was traced for tensors like these, in a program that records as this does.
    pub fn fits(&self, arguments: &[&Tensor]) -> bool {
        self.world.recorded == is_grad_enabled()
            && self.forward.fits(arguments)
            && arguments.iter().zip(&self.world.needs).all(|(argument, needs)| argument.requires_grad() == *needs)
    }

    /// The results.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn call(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        let mut results = self.forward.run(arguments)?;
        let mut kept = results.split_off(self.results);
        let saved = kept.split_off(self.kept.len());
        for (place, made) in self.kept.iter().zip(&kept) {
            vm::clear_poison(place.storage());
            no_grad(|| place.untracked().copy_from(made))?;
        }
        match &self.backward {
            Some(backward) if is_grad_enabled() => backward.record(arguments, results, &saved),
            _ => Ok(results),
        }
    }

    /// The program that computes the results.
    pub fn forward(&self) -> &Program {
        &self.forward
    }

    /// The program that computes the gradients, if there are any.
    pub fn backward(&self) -> Option<&Program> {
        self.backward.as_ref().map(|backward| &*backward.program)
    }
}

/// In a trace: gives those that stand for arguments what these have of gradients.
fn stand_in(arguments: &[Tensor], examples: &[&Tensor]) -> Result<()> {
    for (argument, example) in arguments.iter().zip(examples) {
        if example.requires_grad() {
            argument.set_requires_grad(true)?;
        }
        argument.set_grad(example.grad().as_ref())?;
    }
    forget_grads()
}

/// In a trace: the arguments whose gradients the function took, with these.
///
/// # Errors
/// For arguments that have other gradients now, or a history: only calls one by one give these to the arguments themselves.
fn taken_grads(arguments: &[Tensor], examples: &[&Tensor]) -> Result<Vec<(Grad, usize)>> {
    let refuse =
        |given: &'static str| Err(Error::autograd(GRAPH, "argument", given, "a function that leaves that as it is"));
    let mut taken = Vec::new();
    for (number, (argument, example)) in arguments.iter().zip(examples).enumerate() {
        if argument.requires_grad() != example.requires_grad() {
            return refuse("a history of an argument");
        }
        if !takes_grad(argument)? {
            continue;
        }
        let grad = Grad::of(example.grad().as_ref());
        if !grad.is_kept_by(argument) {
            return refuse("another gradient that an argument keeps");
        }
        taken.push((grad, number));
    }
    Ok(taken)
}

/// In a trace: the function's results, then the gradients of the leaves that they depend on.
fn with_gradients(arguments: &[Tensor], mut results: Vec<Tensor>) -> Result<(Vec<Tensor>, Traced)> {
    let calls = calls()?;
    let count = results.len();
    let is_own = |y: &Tensor| arguments.iter().any(|argument| argument.id() == y.id());
    if results.iter().any(|y| y.requires_grad() && y.is_leaf() && !is_own(y)) {
        let accepted = "a function whose results are computed: only calls one by one give leaves";
        return Err(Error::autograd(GRAPH, "result", "a leaf", accepted));
    }
    let differentiable: Vec<bool> =
        results.iter().map(|y| y.requires_grad() && is_grad_enabled() && !y.dtype().is_int() && !is_freed(y)).collect();
    let mut roots = Vec::new();
    let mut seeds = Vec::new();
    for result in results.iter().zip(&differentiable).filter(|(_, has)| **has).map(|(result, _)| result) {
        let (seed, used) = further_argument(SEED, result)?;
        seeds.push(used);
        roots.push((result.clone(), Some(seed)));
    }
    let mut leaves = Vec::new();
    // Whoever keeps a tensor may ask for gradients through it.
    let retained = BackwardOptions { retain_graph: true, ..BackwardOptions::default() };
    if !roots.is_empty() {
        let number = |id: TensorId| arguments.iter().position(|argument| argument.id() == id);
        // Hooks of captured leaves run when their gradients arrive.
        for (leaf, gradient) in leaf_gradients(&roots, retained, |leaf| number(leaf.id()).is_some())? {
            leaves.push(number(leaf.id()).map_or_else(|| Leaf::Captured(leaf.clone()), Leaf::Argument));
            results.push(gradient);
        }
    }
    let results = results.iter().map(Tensor::detach).collect();
    Ok((results, Traced { calls, results: count, differentiable, seeds, leaves }))
}

/// An error if a gradient of a result is kept: it is there when the backward program runs, and no value of the forward program.
fn refuse_seeds(graph: &Graph, kept: &[usize]) -> Result<()> {
    let is_seed = |&value: &usize| matches!(graph.values[value].origin, Origin::Input(SEED));
    if kept.iter().any(is_seed) { Err(keeps_gradients()) } else { Ok(()) }
}

#[cold]
fn keeps_gradients() -> Error {
    let accepted = "gradients that nobody keeps: elements are there when it runs";
    Error::autograd(GRAPH, "backward", "a function that keeps what it computes", accepted)
}

/// The graph that computes the results and what is to be saved, and the gradients' program.
fn split(graph: Graph, traced: Traced, kept: &[usize]) -> Result<(Graph, Backward)> {
    let count = graph.nodes.len();
    let mut graph = graph.with_own_constants();
    // Copies of constants come first.
    let nodes = graph.nodes.split_off(traced.calls + graph.nodes.len() - count);
    let gradients = graph.outputs.split_off(traced.results);
    let values = graph.values.clone();
    let backward =
        Graph { device: graph.device, values, nodes, inputs: Vec::new(), outputs: gradients, reads: Vec::new() };
    let mut backward = backward.without_common_calls().without_dead_code();

    let made_before = graph.marks(graph.nodes.iter().flat_map(|node| &node.outputs));
    if kept.iter().any(|&value| graph.is_made(value) && !made_before[value]) {
        return Err(keeps_gradients());
    }
    graph.also_give(kept);
    let count = backward.values.len();
    let read = backward.read();
    let read_before = graph.read();
    // Gradients draw again what was drawn, by the same key.
    let is_drawn = |value: usize| matches!(graph.values[value].origin, Origin::Key(_)) && read_before[value];
    let is_there = |value: usize| backward.is_made(value) && made_before[value] || is_drawn(value);
    let is_needed = |value: &usize| read[*value] && is_there(*value);
    let needed: BTreeSet<usize> = (0..count).filter(is_needed).collect();
    let (again, calls) = recomputed(&graph, &needed)?;
    backward = backward.with_calls(calls);
    let read = backward.read();
    let saved: Vec<usize> = needed.difference(&again).copied().collect();
    let captured = (0..count).filter(|&value| read[value]).filter_map(|value| match &backward.values[value].origin {
        Origin::Captured(captured) => captured.tensor().cloned(),
        _ => None,
    });
    let captured: Vec<Tensor> = captured.collect();
    let arguments: Vec<usize> =
        graph.inputs.iter().enumerate().filter(|(_, input)| read[input.value]).map(|(number, _)| number).collect();

    let saved: Vec<Use> = saved.iter().map(|&value| graph.bytes(value)).collect();
    let read_arguments = arguments.iter().map(|&number| graph.inputs[number].clone());
    let inputs: Vec<Use> = saved.iter().cloned().chain(read_arguments).chain(traced.seeds).collect();
    for (number, input) in inputs.iter().enumerate() {
        backward.values[input.value].origin = Origin::Input(number);
    }
    backward.inputs = inputs;
    graph.outputs.extend(saved);
    let program = Arc::new(backward.compile_with(TRAINING)?);
    let Traced { differentiable, leaves, .. } = traced;
    Ok((graph, Backward { program, leaves, arguments, captured, differentiable }))
}

impl Backward {
    fn record(&self, arguments: &[&Tensor], results: Vec<Tensor>, saved: &[Tensor]) -> Result<Vec<Tensor>> {
        let read = self.arguments.iter().map(|&number| arguments[number]);
        let kept = saved.iter().chain(read).map(|t| SavedTensor::new(t, false)).collect::<Vec<SavedTensor>>();
        let unchanged: Vec<SavedTensor> = self.captured.iter().map(|t| SavedTensor::new(t, false)).collect();
        let leaves: Vec<&Tensor> = self.leaves.iter().map(|leaf| leaf.tensor(arguments)).collect();
        let (program, differentiable) = (self.program.clone(), self.differentiable.clone());
        let device = self.program.device();
        let metas: Vec<Meta> = results.iter().map(|y| y.meta().clone()).collect();
        let backward = move |grads: &[Option<Tensor>], _: &[bool]| {
            if is_grad_enabled() {
                let accepted = "gradients that are not differentiated again";
                return Err(Error::autograd(GRAPH, "backward", "create_graph", accepted));
            }
            unchanged.iter().try_for_each(|t| t.unpack().map(drop))?;
            let mut given = kept.iter().map(SavedTensor::unpack).collect::<Result<Vec<Tensor>>>()?;
            for (i, meta) in metas.iter().enumerate().filter(|(i, _)| differentiable[*i]) {
                given.push(match &grads[i] {
                    Some(grad) => grad.to_dtype(meta.dtype)?.broadcast_as(meta.shape())?.contiguous()?,
                    None => Tensor::zeros(meta.shape(), meta.dtype, &device)?,
                });
            }
            let given = given.iter().map(Tensor::detach).collect::<Vec<Tensor>>();
            Ok(program.run(&given.iter().collect::<Vec<_>>())?.into_iter().map(Some).collect())
        };
        record_function(GRAPH, &leaves, &results, &self.differentiable, Arc::new(backward))
    }
}

impl Leaf {
    fn tensor<'a>(&'a self, arguments: &[&'a Tensor]) -> &'a Tensor {
        match self {
            Leaf::Argument(number) => arguments[*number],
            Leaf::Captured(tensor) => tensor,
        }
    }
}
