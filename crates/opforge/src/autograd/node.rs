use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opforge_runtime::Storage;
use smallvec::SmallVec;

use super::{Edge, Slot};
use crate::dispatch::Call;
use crate::operator::{Operator, Tensors};
use crate::{Device, Error, Meta, Result, Tensor};

/// One recorded call of an operator.
pub(crate) struct Node {
    /// Larger than that of every node this one depends on.
    pub(crate) sequence: u64,
    pub(crate) op: Box<dyn Operator>,
    pub(crate) at: &'static Location<'static>,
    pub(crate) device: Device,
    pub(crate) inputs: SmallVec<[Meta; 2]>,
    pub(crate) outputs: SmallVec<[Meta; 1]>,
    /// For a view, what it is a view of.
    pub(crate) base: Option<Tensor>,
    /// Where each input's gradient goes; `None` where none is needed.
    pub(crate) edges: SmallVec<[Option<Edge>; 3]>,
    /// `None` once backward has freed them.
    saved: Mutex<Option<Saved>>,
}

/// What a node keeps alive for its backward.
#[derive(Clone, Default)]
pub(crate) struct Saved {
    inputs: SmallVec<[Option<(Tensor, u64)>; 3]>,
    outputs: SmallVec<[Option<SavedOutput>; 1]>,
}

/// An output's data without its place in the graph: holding the tensor itself would be a reference cycle.
#[derive(Clone)]
struct SavedOutput {
    meta: Meta,
    storage: Arc<Storage>,
    version: u64,
}

impl Node {
    /// What was saved; taken out of the node unless it is to be kept.
    pub(crate) fn saved(&self, keep: bool) -> Result<Saved> {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let found = if keep { saved.clone() } else { saved.take() };
        found.ok_or_else(|| {
            let given = format!("a graph that an earlier backward freed (recorded at {})", self.at);
            Error::autograd(self.op.name(), "backward", given, "a first backward, or retain_graph the time before")
        })
    }

    fn changed(&self, which: &str, i: usize, saved: u64, now: u64) -> Error {
        let given = format!("version {now}, saved at version {saved}");
        let accepted = format!("a tensor not changed in place since the call at {}", self.at);
        Error::autograd(self.op.name(), format!("saved {which} {i}"), given, accepted)
    }
}

impl Saved {
    pub(crate) fn input(&self, node: &Node, i: usize) -> Result<Tensor> {
        match self.inputs.get(i).and_then(Option::as_ref) {
            Some((tensor, version)) if tensor.version() == *version => Ok(tensor.clone()),
            Some((tensor, version)) => Err(node.changed("input", i, *version, tensor.version())),
            None => Err(Error::autograd(node.op.name(), "saved input", i, "an input that `saves` names")),
        }
    }

    pub(crate) fn output(&self, node: &Arc<Node>, i: usize) -> Result<Tensor> {
        match self.outputs.get(i).and_then(Option::as_ref) {
            Some(s) if s.storage.version() == s.version => {
                Ok(Tensor::with_slot(s.meta.clone(), s.storage.clone(), Slot::new(Edge::Node(node.clone(), i))))
            }
            Some(s) => Err(node.changed("output", i, s.version, s.storage.version())),
            None => Err(Error::autograd(node.op.name(), "saved output", i, "an output that `saves` names")),
        }
    }
}

fn next_sequence() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The versions of a call's inputs, to be taken before it runs: an in-place call changes what it would save.
pub(crate) type Versions = SmallVec<[u64; 4]>;

/// Records a call: its outputs, which must be new or just written in place, get edges to a new node.
pub(crate) fn record(call: &Call<'_>, versions: &Versions, outputs: &Tensors) {
    let (op, inputs) = (call.op, call.inputs);
    let saves = op.saves();
    let wanted = |bits: u32, i: usize| bits & (1 << i.min(31)) != 0;
    // What an in-place call overwrites is of no use to backward, which says so. Saved with its new edge it would be a reference cycle.
    let overwritten = |t: &Tensor| call.outputs.is_some_and(|outputs| outputs.iter().any(|o| o.shares_storage(t)));
    let kept = |t: &Tensor| if overwritten(t) { t.detach() } else { t.clone() };
    let saved = Saved {
        inputs: (inputs.iter().enumerate())
            .map(|(i, t)| wanted(saves.inputs, i).then(|| (kept(t), versions[i])))
            .collect(),
        outputs: (outputs.iter().enumerate())
            .map(|(i, t)| {
                wanted(saves.outputs, i).then(|| SavedOutput {
                    meta: t.meta().clone(),
                    storage: t.storage().clone(),
                    version: t.version(),
                })
            })
            .collect(),
    };
    let node = Arc::new(Node {
        sequence: next_sequence(),
        op: op.boxed(),
        at: call.at,
        device: *outputs[0].device(),
        base: op.view(inputs[0].layout()).map(|_| inputs[0].clone()),
        inputs: inputs.iter().map(|t| t.meta().clone()).collect(),
        outputs: outputs.iter().map(|t| t.meta().clone()).collect(),
        edges: inputs.iter().map(|t| t.slot().edge()).collect(),
        saved: Mutex::new(Some(saved)),
    });
    for (i, output) in outputs.iter().enumerate() {
        if wanted(op.differentiable_outputs(), i) && (output.dtype().is_float() || output.dtype().is_complex()) {
            output.slot().set(Some(Edge::Node(node.clone(), i)));
        }
    }
}

thread_local! {
    /// What dead nodes held, while the outermost one is being dropped.
    static GRAVEYARD: RefCell<Option<Vec<Remains>>> = const { RefCell::new(None) };
}

type Remains = (SmallVec<[Option<Edge>; 3]>, Option<Saved>, Option<Tensor>);

/// Frees chains of nodes in a loop: dropping a node from within another's drop only hands over what it held.
impl Drop for Node {
    fn drop(&mut self) {
        let saved = self.saved.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let remains = (std::mem::take(&mut self.edges), saved, self.base.take());
        let outermost = GRAVEYARD.try_with(|yard| {
            let mut yard = yard.borrow_mut();
            let outermost = yard.is_none();
            yard.get_or_insert_default().push(remains);
            outermost
        });
        if outermost != Ok(true) {
            return;
        }
        let next = || GRAVEYARD.with(|yard| yard.borrow_mut().as_mut().and_then(Vec::pop));
        while let Some(remains) = next() {
            drop(remains);
        }
        GRAVEYARD.with(|yard| *yard.borrow_mut() = None);
    }
}
