//! The interpreter that writes calls down.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

use opforge::autograd::is_grad_enabled;
use opforge::dispatch::{Autograd, Call, EagerLocal, Interpreter, check_destination, interpreted_by};
use opforge::operator::{Lowering, Metas, Tensors};
use opforge::tracer::traced_by;
use opforge::{DType, Device, Error, Layout, Meta, Result, Tensor, no_grad};
use opforge_runtime::{Storage, vm};

use crate::graph::{Captured, Graph, Node, Origin, Use, Value};
use crate::world::World;

/// The name that errors of graphs bear.
const GRAPH: &str = "graph";

/// What has been written down so far.
#[derive(Default)]
pub(crate) struct Recording {
    /// Where all tensors are.
    pub device: Device,
    /// How many arguments there are.
    pub arguments: usize,
    pub values: Vec<Value>,
    /// The storage of each value: its address is the value's as long as it is held.
    pub storages: Vec<Arc<Storage>>,
    /// The values by these addresses.
    numbers: HashMap<*const Storage, usize>,
    pub nodes: Vec<Node>,
    pub world: World,
}

thread_local!(static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) });

/// Writes calls down; around it, gradients are recorded as in eager code.
static TRACER: Autograd<Lazy> = Autograd { inner: Lazy };

pub(crate) struct Lazy;

/// Runs `f` on tensors like these, and writes down what it calls.
///
/// Nothing is computed. `f` may look at shapes and dtypes, which are those of the example tensors; elements are known only when the graph runs, and
/// reading them is an error that names the call which would make them.
///
/// # Errors
/// Those of `f`; tensors of several devices, those of the first example's and others; a trace inside of a trace.
pub fn trace(examples: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>) -> Result<Graph> {
    let Ended { graph, .. } = trace_all(examples, |arguments| Ok((f(arguments)?, ())))?;
    Ok(graph.with_own_constants())
}

/// As [`trace`], of arguments with these dtypes and layouts.
pub(crate) fn trace_like(
    examples: &[Meta],
    device: Device,
    f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<Graph> {
    let Ended { graph, .. } = record(examples, device, |arguments| Ok((f(arguments)?, ())))?;
    Ok(graph.with_own_constants())
}

/// The memory of tensors of a trace that are still held when it has ended, by whoever `f` gave them to: attributes, caches, gradients of leaves.
pub(crate) struct Held(Vec<(usize, Arc<Storage>)>);

impl Held {
    /// Lets go of what nobody else holds any more.
    pub fn tidied(self) -> Held {
        Held(self.0.into_iter().filter(|(_, storage)| Arc::strong_count(storage) > 1).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values, and all their bytes as tensors.
    pub fn values(&self) -> Result<Vec<(usize, Tensor)>> {
        let bytes = |storage: &Arc<Storage>| {
            Tensor::over_storage(storage.clone(), DType::U8, Layout::contiguous(storage.nbytes()))
        };
        self.0.iter().map(|(value, storage)| Ok((*value, bytes(storage)?))).collect()
    }
}

/// What comes of a trace: the graph, what the function gives besides, and the tensors that are still held.
pub(crate) struct Ended<R> {
    pub graph: Graph,
    pub rest: R,
    pub held: Held,
}

/// As [`trace`], of a function that gives something besides. Gradients that tensors keep are then again what they were.
pub(crate) fn trace_all<R>(
    examples: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> Result<(Vec<Tensor>, R)>,
) -> Result<Ended<R>> {
    let device = examples.first().map_or(Device::Cpu, |example| *example.device());
    if let Some(other) = examples.iter().map(|example| *example.device()).find(|other| *other != device) {
        return Err(Error::device(GRAPH, "input", other, "one device that computes"));
    }
    record(&examples.iter().map(|example| example.meta().clone()).collect::<Vec<Meta>>(), device, f)
}

fn record<R>(
    examples: &[Meta],
    device: Device,
    f: impl FnOnce(&[Tensor]) -> Result<(Vec<Tensor>, R)>,
) -> Result<Ended<R>> {
    if RECORDING.with_borrow(Option::is_some) {
        return Err(Error::value(GRAPH, "trace", "a trace inside of a trace", "one trace at a time"));
    }
    if !examples.is_empty() && device.memory().is_err() {
        return Err(Error::device(GRAPH, "input", device, "one device that computes"));
    }
    let mut begun = Recording::on(device);
    let arguments = examples.iter().enumerate().map(|(i, example)| begun.argument(i, example));
    let arguments = arguments.collect::<Result<Vec<Tensor>>>()?;
    let mut inputs: Vec<Use> = arguments.iter().map(|x| begun.used(x)).collect();
    begun.arguments = inputs.len();
    RECORDING.set(Some(begun));
    let end = End;
    let outcome = traced_by(&Lazy, || interpreted_by(&TRACER, || f(&arguments)));
    let mut ended = RECORDING.take().unwrap_or_default();
    drop(end);
    ended.world.give_back_draws();
    ended.world.give_back_grads();
    let (outputs, rest) = outcome?;
    let uses = outputs.iter().map(|y| ended.used(y)).collect();
    drop((outputs, arguments));
    let World { reads, further, .. } = std::mem::take(&mut ended.world);
    inputs.extend(further.into_iter().flatten());
    let Recording { device, values, nodes, storages, .. } = ended;
    let is_of_trace = |(value, _): &(usize, _)| matches!(values[*value].origin, Origin::Made | Origin::Input(_));
    let held = Held(storages.into_iter().enumerate().filter(is_of_trace).collect()).tidied();
    Ok(Ended { graph: Graph { device, values, nodes, inputs, outputs: uses, reads }, rest, held })
}

/// Ends a recording, also when what is traced unwinds.
struct End;
impl Drop for End {
    fn drop(&mut self) {
        RECORDING.take();
    }
}

/// What `f` makes of what has been written down so far, in a trace.
pub(crate) fn with_recording<R>(f: impl FnOnce(&mut Recording) -> Result<R>) -> Result<R> {
    let none = || Error::msg("a graph was traced on another thread");
    RECORDING.with_borrow_mut(|recording| f(recording.as_mut().ok_or_else(none)?))
}

/// How many calls have been written down.
pub(crate) fn calls() -> Result<usize> {
    with_recording(|recording| Ok(recording.nodes.len()))
}

/// From now on gradients that tensors keep are further arguments.
pub(crate) fn follow_grads() -> Result<()> {
    with_recording(|recording| {
        recording.world.follow_grads();
        Ok(())
    })
}

/// A tensor that stands for a further argument: with the shape and dtype of `like`, contiguous.
pub(crate) fn further_argument(number: usize, like: &Tensor) -> Result<(Tensor, Use)> {
    with_recording(|recording| {
        let meta = Meta::contiguous(like.dtype(), like.shape());
        let bytes = meta.elem_count() * meta.dtype.size_in_bytes();
        let origin = Origin::Input(number);
        let tensor = recording.tensor(meta, bytes, origin, "argument", Location::caller())?;
        let used = recording.used(&tensor);
        Ok((tensor, used))
    })
}

impl Recording {
    /// Nothing yet, of a graph of this device.
    pub(crate) fn on(device: Device) -> Recording {
        Recording { device, ..Recording::default() }
    }

    /// A tensor that stands for an argument.
    pub fn argument(&mut self, number: usize, example: &Meta) -> Result<Tensor> {
        let layout = &example.layout;
        let layout = Layout::new(layout.shape().clone(), layout.stride().into(), 0, GRAPH)?;
        let bytes = layout.span() * example.dtype.size_in_bytes();
        let meta = Meta { dtype: example.dtype, layout };
        self.tensor(meta, bytes, Origin::Input(number), "argument", Location::caller())
    }

    /// A tensor of a new value, whose elements nobody can read.
    pub(crate) fn tensor(
        &mut self,
        meta: Meta,
        bytes: usize,
        origin: Origin,
        op: &'static str,
        at: &'static Location<'static>,
    ) -> Result<Tensor> {
        let storage = Storage::promised(self.device, bytes);
        let unknown = "a graph is being traced: elements are there when it runs, and cannot be read before";
        vm::set_unusable(&storage, op, at, Error::msg(unknown));
        self.push(Value { bytes, origin }, &storage);
        Tensor::over_storage(storage, meta.dtype, meta.layout)
    }

    /// A tensor as part of a value: its own, or one that is captured now.
    pub(crate) fn used(&mut self, tensor: &Tensor) -> Use {
        let captured = || Value { bytes: tensor.storage().nbytes(), origin: Origin::Captured(Captured::new(tensor)) };
        let known = self.number(tensor.storage());
        let value = known.unwrap_or_else(|| self.push(captured(), tensor.storage()));
        Use { value, meta: tensor.meta().clone() }
    }

    /// A new value, that of a storage.
    fn push(&mut self, value: Value, storage: &Arc<Storage>) -> usize {
        let number = self.values.len();
        self.numbers.insert(Arc::as_ptr(storage), number);
        self.storages.push(storage.clone());
        self.values.push(value);
        number
    }

    pub fn is_captured(&self, value: usize) -> bool {
        matches!(self.values[value].origin, Origin::Captured(_))
    }

    /// Whether a tensor's memory is an argument's or made by a call.
    pub fn is_of_trace(&self, tensor: &Tensor) -> bool {
        self.number(tensor.storage()).is_some_and(|value| !self.is_captured(value))
    }

    pub fn number(&self, storage: &Arc<Storage>) -> Option<usize> {
        self.numbers.get(&Arc::as_ptr(storage)).copied()
    }
}

impl Interpreter for Lazy {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        let is_view = matches!(call.inputs, [input] if call.op.view(input.layout()).is_some());
        let devices = || call.inputs.iter().chain(call.outputs.unwrap_or_default()).map(|t| *t.device());
        if is_view || call.op.device().or_else(|| devices().next()) == Some(Device::Meta) {
            return EagerLocal.interpret(call);
        }
        if let Some(given) = call.outputs
            && call.op.refuses_elements(call.inputs)
        {
            // As in eager code: what fails must not have changed anything.
            let made = self.interpret(&Call { outputs: None, ..*call })?;
            no_grad(|| made.iter().zip(given).try_for_each(|(made, given)| given.copy_from(made)))?;
            return Ok(given.iter().map(|t| (*t).clone()).collect());
        }
        with_recording(|recording| {
            call.inputs.iter().try_for_each(|input| recording.check_history(call.op.name(), input))?;
            recording.write_down(call)
        })
    }
}

fn check(call: &Call<'_>, metas: &Metas, device: Device) -> Result<()> {
    if let Some(other) = call.inputs.iter().map(|t| *t.device()).chain(call.op.device()).find(|d| *d != device) {
        return Err(Error::device(call.op.name(), "input", other, format!("{device}, that of the graph's arguments")));
    }
    for meta in metas {
        meta.shape().check(call.op.name(), meta.dtype.size_in_bytes())?;
    }
    check_destination(call, metas)
}

impl Recording {
    /// A call that is no view, checked as the eager interpreter would.
    pub(crate) fn write_down(&mut self, call: &Call<'_>) -> Result<Tensors> {
        let inputs: Vec<&Meta> = call.inputs.iter().map(|t| t.meta()).collect();
        let metas = call.op.infer(&inputs)?;
        check(call, &metas, self.device)?;
        let lowering = call.op.lower(&inputs, &metas.iter().collect::<Vec<_>>())?;
        if matches!(lowering, Lowering::Random(_)) {
            self.key(call.inputs[0]);
        }
        let outputs = self.outputs(call, metas)?;
        let node = Node {
            op: call.op.boxed(),
            at: call.at,
            caller: vm::caller(),
            inputs: call.inputs.iter().map(|t| self.used(t)).collect(),
            outputs: outputs.iter().map(|t| self.used(t)).collect(),
        };
        self.nodes.push(node);
        if call.outputs.is_some() {
            outputs.iter().for_each(Tensor::bump_version);
        }
        Ok(outputs)
    }

    /// Refuses what calls before the graph computed of something that needs a gradient: their part of the gradient is not the graph's, and reads what
    /// will be others' when it runs.
    fn check_history(&self, op: &'static str, input: &Tensor) -> Result<()> {
        let own = || input.is_leaf() || input.base().is_some_and(Tensor::is_leaf) || self.is_of_trace(input);
        if !input.requires_grad() || !is_grad_enabled() || own() {
            return Ok(());
        }
        let given = format!("a captured tensor of shape {:?} that earlier calls computed", input.dims());
        Err(Error::autograd(op, "input", given, "leaves, or arguments of the graph, where a gradient is needed"))
    }

    /// Notes that a tensor is a key of random numbers, of which each run has its own.
    fn key(&mut self, key: &Tensor) {
        let used = self.used(key);
        if let Some(generator) = self.world.generator_of(key) {
            self.values[used.value].origin = Origin::Key(generator);
        }
    }

    fn outputs(&mut self, call: &Call<'_>, metas: Metas) -> Result<Tensors> {
        if let Some(given) = call.outputs {
            return Ok(given.iter().map(|t| (*t).clone()).collect());
        }
        let made = metas.into_iter().map(|meta| {
            let bytes = meta.elem_count() * meta.dtype.size_in_bytes();
            self.tensor(meta, bytes, Origin::Made, call.op.name(), call.at)
        });
        made.collect()
    }
}
