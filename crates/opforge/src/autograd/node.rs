//! Recorded calls, and what they keep for backward.
//!
//! A node holds elements and edges, never the tensors that its call read or wrote: graphs would be reference cycles. Backward makes tensors again
//! from storage, version and edge when it asks for them. Leaves alone are held, since their gradients live with them; so a gradient that was recorded
//! with `create_graph` and is kept in `.grad` is a cycle until it is cleared.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use opforge_runtime::Storage;

use super::elements::Elements;
use super::function::FunctionBackward;
use super::hooks::Watchers;
use super::slot::{Edge, Slot, lock};
use super::view::{overwrite_backward, show_backward};
use super::{Backward, function};
use crate::operator::{Grads, Operator};
use crate::tensor::SharedMeta;
use crate::{Device, Error, Result, Tensor};

/// One recorded call.
pub(crate) struct Node {
    /// Larger than that of every node this one depends on.
    pub(crate) sequence: u64,
    pub(crate) action: Action,
    pub(crate) at: &'static Location<'static>,
    pub(crate) device: Device,
    pub(crate) inputs: SmallVec<[SharedMeta; 2]>,
    pub(crate) outputs: SmallVec<[SharedMeta; 2]>,
    /// Where each input's gradient goes; `None` where none is needed. Behind them those of what the outputs were before, which a call in place has written over
    /// without reading it: they get zeros.
    pub(crate) edges: Edges,
    pub(crate) watchers: Watchers,
    /// `None` once backward has freed them.
    saved: Mutex<Option<Saved>>,
}

/// An edge for each input, and perhaps for what each output was before.
pub(crate) type Edges = SmallVec<[Option<Edge>; 3]>;

/// What was called.
pub(crate) enum Action {
    Operator(Box<dyn Operator>),
    /// A function that brings its own backward, which is saved.
    Function(Arc<str>),
    /// A strided view of a tensor.
    Show,
    /// A part of a tensor (input 0) took the elements of a value (input 1), whose layout is the part's.
    Overwrite,
}

/// What a node keeps alive for its backward, by input and by output; empty where none is kept.
#[derive(Clone, Default)]
pub(crate) struct Saved {
    pub(super) inputs: SmallVec<[Option<Elements>; 3]>,
    pub(super) outputs: SmallVec<[Option<Elements>; 1]>,
    pub(super) function: Option<Arc<FunctionBackward>>,
}

impl Action {
    pub(crate) fn name(&self) -> &str {
        match self {
            Action::Operator(op) => op.name(),
            Action::Function(name) => name,
            Action::Show => "as_strided",
            Action::Overwrite => "overwrite",
        }
    }
}

impl Node {
    /// A node that nobody called for: it follows from calls that share memory.
    pub(super) fn derived(
        action: Action,
        at: &'static Location<'static>,
        inputs: &[&SharedMeta],
        output: &Tensor,
        edges: Edges,
    ) -> Arc<Self> {
        Self::new(action, at, inputs.iter().copied(), [output].into_iter(), edges, Saved::default())
    }

    pub(super) fn new<'a>(
        action: Action,
        at: &'static Location<'static>,
        inputs: impl Iterator<Item = &'a SharedMeta>,
        outputs: impl Iterator<Item = &'a Tensor> + Clone,
        edges: Edges,
        saved: Saved,
    ) -> Arc<Self> {
        Arc::new(Node {
            // After the edges were found: finding them may have made nodes.
            sequence: Self::next_sequence(),
            action,
            at,
            device: outputs.clone().next().map_or(Device::Cpu, |output| *output.device()),
            inputs: inputs.cloned().collect(),
            outputs: outputs.map(|output| output.shared_meta().clone()).collect(),
            edges,
            watchers: Watchers::default(),
            saved: Mutex::new(Some(saved)),
        })
    }

    /// A number larger than those of all nodes so far.
    pub(super) fn next_sequence() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether elements in this memory are saved.
    pub(super) fn has_saved(&self, storage: &Arc<Storage>) -> bool {
        lock(&self.saved).iter().flat_map(Saved::elements).any(|elements| elements.are_in(storage))
    }

    /// Has what is saved of one memory be read from a copy of it.
    pub(super) fn move_saved(&self, from: &Arc<Storage>, to: &Arc<Storage>) {
        let mut saved = lock(&self.saved);
        let all = saved.iter_mut().flat_map(|saved| saved.inputs.iter_mut().chain(&mut saved.outputs)).flatten();
        all.filter(|elements| elements.are_in(from)).for_each(|elements| elements.move_to(to.clone()));
    }

    pub(super) fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        match &self.action {
            Action::Operator(op) => self.operator_backward(&**op, ctx),
            Action::Function(name) => function::backward(name, ctx),
            Action::Show => show_backward(ctx),
            Action::Overwrite => overwrite_backward(ctx),
        }
    }

    fn operator_backward(&self, op: &dyn Operator, ctx: &Backward<'_>) -> Result<Grads> {
        let inputs = self.inputs.len();
        if self.edges.len() == inputs {
            return op.backward(ctx);
        }
        let is_wanted = (0..inputs).any(|i| ctx.needs(i));
        let mut grads = if is_wanted { op.backward(ctx)? } else { Grads::from_elem(None, inputs) };
        for (i, before) in self.outputs.iter().enumerate() {
            grads.push(ctx.when(inputs + i, || Tensor::zeros(before.shape(), before.dtype, &self.device))?);
        }
        Ok(grads)
    }

    /// Whether a backward has freed what was saved.
    pub(super) fn is_freed(&self) -> bool {
        lock(&self.saved).is_none()
    }

    /// What was saved; taken out of the node unless it is to be kept.
    pub(crate) fn saved(&self, keep: bool) -> Result<Saved> {
        let mut saved = lock(&self.saved);
        let found = match &*saved {
            Some(all) if keep || all.is_empty() => Some(all.clone()),
            _ => saved.take(),
        };
        found.ok_or_else(|| {
            let given = format!(
                "Trying to backward through the graph a second time: an earlier backward freed it (recorded at {})",
                self.at
            );
            let accepted = "a first backward, or retain_graph the time before";
            Error::autograd(self.action.name().to_owned(), "backward", given, accepted)
        })
    }

    /// An output as it is now, if the call has kept it for its own backward and that has not been.
    pub(super) fn kept_output(&self, i: usize) -> Option<Tensor> {
        let saved = lock(&self.saved);
        let elements = saved.as_ref()?.outputs.get(i)?.as_ref()?;
        Some(elements.tensor(self.outputs[i].clone(), Slot::default()))
    }

    /// The saved elements, if nobody changed them since.
    fn unchanged<'a>(&self, saved: &'a [Option<Elements>], which: &str, i: usize) -> Result<&'a Elements> {
        let elements = saved.get(i).and_then(Option::as_ref).ok_or_else(|| self.not_saved(which, i))?;
        match elements.changed() {
            None => Ok(elements),
            Some(given) => {
                let accepted = format!("a tensor not changed in place since the call at {}", self.at);
                Err(Error::autograd(self.action.name().to_owned(), format!("saved {which} {i}"), given, accepted))
            }
        }
    }

    fn not_saved(&self, which: &str, i: usize) -> Error {
        Error::autograd(
            self.action.name().to_owned(),
            format!("saved {which}"),
            i,
            format!("an {which} that `saves` names"),
        )
    }
}

impl Saved {
    fn elements(&self) -> impl Iterator<Item = &Elements> {
        self.inputs.iter().chain(&self.outputs).flatten()
    }

    fn is_empty(&self) -> bool {
        self.function.is_none() && self.elements().next().is_none()
    }

    pub(crate) fn input(&self, node: &Node, i: usize) -> Result<Tensor> {
        let elements = node.unchanged(&self.inputs, "input", i)?;
        let slot = match &node.edges[i] {
            Some(Edge::Leaf(leaf)) => return Ok(leaf.clone()),
            Some(Edge::Node(from, output)) => Slot::computed((from.clone(), *output)),
            None => Slot::default(),
        };
        Ok(elements.tensor(node.inputs[i].clone(), slot))
    }

    pub(crate) fn output(&self, node: &Arc<Node>, i: usize) -> Result<Tensor> {
        let elements = node.unchanged(&self.outputs, "output", i)?;
        Ok(elements.tensor(node.outputs[i].clone(), Slot::computed((node.clone(), i))))
    }
}

/// Whether elements of the tensor's dtype have gradients.
pub(super) fn is_differentiable(tensor: &Tensor) -> bool {
    tensor.dtype().is_differentiable()
}

thread_local! {
    /// What dead nodes held, while the outermost one is being dropped.
    static GRAVEYARD: RefCell<Option<Vec<Remains>>> = const { RefCell::new(None) };
}

type Remains = (Edges, Option<Saved>, Watchers);

/// Frees chains of nodes in a loop: dropping a node from within another's drop only hands over what it held.
impl Drop for Node {
    fn drop(&mut self) {
        let saved = self.saved.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let remains = (std::mem::take(&mut self.edges), saved, std::mem::take(&mut self.watchers));
        let own = GRAVEYARD.try_with(|yard| match &mut *yard.borrow_mut() {
            Some(yard) => {
                yard.push(remains);
                None
            }
            closed => {
                *closed = Some(Vec::new());
                Some(remains)
            }
        });
        let Ok(Some(own)) = own else { return };
        let mut next = Some(own);
        while let Some(remains) = next {
            drop(remains);
            next = GRAVEYARD.with_borrow_mut(|yard| yard.as_mut().and_then(Vec::pop));
        }
        GRAVEYARD.set(None);
    }
}
