//! A traced function as part of programs that record gradients: one program forwards, one backwards.

use std::collections::BTreeSet;
use std::sync::Arc;

use opforge::autograd::{BackwardOptions, SavedTensor, is_freed, is_grad_enabled, leaf_gradients, record_function};
use opforge::{Error, Meta, Result, Tensor, TensorId, no_grad};

use opforge_runtime::vm;

use crate::graph::{Graph, Origin, Use};
use crate::inside::Timings;
use crate::kept::{Kept, Leaf, count_left, found, leave, take_kept};
use crate::program::{Options, Program};
use crate::recompute::recomputed;
use crate::run::GRAPH;
use crate::trace::{Ended, calls, follow_grads, further_argument, trace_all};

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
    /// How many of the forward program's results are the function's; then come gradients that it leaves with tensors, those for `kept`, and what is saved.
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
    /// The tensors whose gradients the function takes, and whether there were any.
    grads: Vec<Kept>,
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

/// What a trace tells of gradients.
struct Traced {
    /// How many calls come before the gradients'.
    calls: usize,
    /// How many of the graph's results are the function's; then come the gradients of `leaves`, and those left with tensors.
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
        let Ended { mut graph, rest: (traced, grads), mut held } = trace_all(examples, |arguments| {
            stand_in(arguments, examples)?;
            let results = f(arguments)?;
            check_histories(arguments, examples)?;
            let (mut results, traced) = with_gradients(arguments, results)?;
            let (grads, left) = take_kept(arguments)?;
            results.extend(left);
            Ok((results, (traced, grads)))
        })?;
        let left = graph.outputs.split_off(graph.outputs.len() - count_left(&grads));
        let world = World { recorded: is_grad_enabled(), needs, grads };
        if !held.is_empty() {
            tidy();
            held = held.tidied();
        }
        let (values, kept): (Vec<usize>, Vec<Tensor>) = held.values()?.into_iter().unzip();
        let given: Vec<Use> = left.into_iter().chain(values.iter().map(|&value| graph.bytes(value))).collect();
        refuse_seeds(&graph, &given)?;
        let results = traced.results;
        if traced.leaves.is_empty() {
            graph.outputs.extend(given);
            return Ok(Function {
                forward: graph.with_own_constants().compile()?,
                world,
                results,
                kept,
                backward: None,
            });
        }
        let (forward, backward) = split(graph, traced, given)?;
        let forward = forward.compile_with(TRAINING)?;
        Ok(Function { forward, world, results, kept, backward: Some(backward) })
    }

    /// Whether the function gave tensors that it computes to others when it was traced, besides gradients. Each call writes what it computes of them to their
    /// memory, which is unusable before; but only the function itself, called by itself, gives others new tensors.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether the function was traced for tensors like these, in a program that records as this does, and what it took of others is what it was: elements
    /// that the host has read, and which tensors keep gradients.
    pub fn accepts(&self, arguments: &[&Tensor]) -> bool {
        self.fits(arguments) && self.given(arguments).is_ok_and(|given| self.forward.accepts(&given.all(arguments)))
    }

    /// Whether the function was traced for tensors like these, in a program that records as this does.
    pub fn fits(&self, arguments: &[&Tensor]) -> bool {
        let needs = &self.world.needs;
        self.world.recorded == is_grad_enabled()
            && arguments.len() == needs.len()
            && self.forward.begins_with(arguments)
            && arguments.iter().zip(needs).all(|(argument, needs)| argument.requires_grad() == *needs)
    }

    /// As [`Program::shares_changed`], of gradients that tensors keep too.
    pub fn shares_changed(&self, arguments: &[&Tensor]) -> bool {
        self.given(arguments).is_ok_and(|given| self.forward.shares_changed(&given.all(arguments)))
    }

    /// The results.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn call(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        let given = self.given(arguments)?;
        let all = given.all(arguments);
        let mut results = self.forward.run(&all)?;
        let mut left = results.split_off(self.results);
        let mut made = left.split_off(count_left(&self.world.grads));
        let saved = made.split_off(self.kept.len());
        leave(&self.world.grads, arguments, &left)?;
        for (place, made) in self.kept.iter().zip(&made) {
            vm::clear_poison(place.storage());
            no_grad(|| place.untracked().copy_from(made))?;
        }
        match &self.backward {
            Some(backward) if is_grad_enabled() => backward.record(&all, results, &saved),
            _ => Ok(results),
        }
    }

    /// As [`Program::measure`].
    ///
    /// # Errors
    /// As [`Function::call`].
    pub fn measure(&self, arguments: &[&Tensor], runs: usize) -> Result<Timings<'_>> {
        self.forward.measure(&self.given(arguments)?.all(arguments), runs)
    }

    /// What the forward program is given besides the function's arguments.
    fn given(&self, arguments: &[&Tensor]) -> Result<Given> {
        let others =
            || Error::value(GRAPH, "captured", "other tensors keep gradients", "those that did, or a new trace");
        found(&self.world.grads, arguments).map(Given).ok_or_else(others)
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

/// The gradients that tensors keep, as further arguments of a program.
struct Given(Vec<Tensor>);

impl Given {
    fn all<'a>(&'a self, arguments: &[&'a Tensor]) -> Vec<&'a Tensor> {
        arguments.iter().copied().chain(&self.0).collect()
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
    follow_grads()
}

/// In a trace: an error for arguments that have a history now, which only calls one by one give to the arguments themselves.
fn check_histories(arguments: &[Tensor], examples: &[&Tensor]) -> Result<()> {
    let is_same = |(argument, example): (&Tensor, &&Tensor)| argument.requires_grad() == example.requires_grad();
    if arguments.iter().zip(examples).all(is_same) {
        return Ok(());
    }
    Err(Error::autograd(GRAPH, "argument", "a history of an argument", "a function that leaves that as it is"))
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
fn refuse_seeds(graph: &Graph, given: &[Use]) -> Result<()> {
    let is_seed = |x: &Use| matches!(graph.values[x.value].origin, Origin::Input(SEED));
    if given.iter().any(is_seed) { Err(keeps_gradients()) } else { Ok(()) }
}

#[cold]
fn keeps_gradients() -> Error {
    let accepted = "gradients that nobody keeps: elements are there when it runs";
    Error::autograd(GRAPH, "backward", "a function that keeps what it computes", accepted)
}

/// The graph that computes the results, what is `given` to others and what is to be saved, and the gradients' program.
fn split(mut graph: Graph, traced: Traced, given: Vec<Use>) -> Result<(Graph, Backward)> {
    let count = graph.nodes.len();
    let outputs = graph.outputs.len();
    graph.outputs.extend(given);
    let mut graph = graph.with_own_constants();
    let given = graph.outputs.split_off(outputs);
    // Copies of constants come first.
    let nodes = graph.nodes.split_off(traced.calls + graph.nodes.len() - count);
    let gradients = graph.outputs.split_off(traced.results);
    let values = graph.values.clone();
    let backward =
        Graph { device: graph.device, values, nodes, inputs: Vec::new(), outputs: gradients, reads: Vec::new() };
    let mut backward = backward.without_common_calls().without_dead_code();

    let made_before = graph.marks(graph.nodes.iter().flat_map(|node| &node.outputs));
    if given.iter().any(|x| graph.is_made(x.value) && !made_before[x.value]) {
        return Err(keeps_gradients());
    }
    graph.outputs.extend(given);
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
