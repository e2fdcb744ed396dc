//! Functions with a backward of their own, and what they save for it.

use std::panic::Location;
use std::sync::{Arc, OnceLock, Weak};

use smallvec::SmallVec;

use super::broadcast::sum_to;
use super::elements::Elements;
use super::node::{Action, Node, Saved, is_differentiable};
use super::slot::{Edge, Slot};
use super::view::{check_write, rewrite};
use super::{Backward, is_grad_enabled};
use crate::operator::Grads;
use crate::tensor::SharedMeta;
use crate::{Error, Meta, Result, Shape, Tensor};

/// From the outputs' gradients (`None` where nothing depended on one), and whether each input's gradient is wanted, to the inputs' gradients.
pub type FunctionBackward = dyn Fn(&[Option<Tensor>], &[bool]) -> Result<Vec<Option<Tensor>>> + Send + Sync;

/// Records a computation of which only the results and a backward are known.
///
/// Returns the outputs: with edges to the new node where `differentiable` says so and recording is on and an input needs a gradient. An output
/// that is an input, a view or computed by recorded calls comes back under a new identity, over the same storage; others as they are.
/// `backward` is called with recording on if the backward is to be differentiated; it is dropped when the graph is freed. Gradients of
/// broadcast shapes are summed, and cast to the input's dtype.
///
/// # Errors
/// When there is not one `differentiable` for each output. In backward: when `backward` fails, or does not return a gradient (or `None`) for
/// each input, or one whose shape does not fit.
///
/// ```
/// # use std::sync::Arc;
/// # use opforge::{Device, Var, autograd};
/// let x = Var::new(&[1f32, 2.0], &Device::Cpu)?;
/// let doubled = autograd::no_grad(|| x.affine(2.0, 0.0))?;
/// let backward = |grads: &[Option<opforge::Tensor>], _: &[bool]| {
///     grads[0].as_ref().map(|g| g.affine(2.0, 0.0)).transpose().map(|g| vec![g])
/// };
/// let y = autograd::record_function("Double", &[&x], &[doubled], &[true], Arc::new(backward))?.remove(0);
/// assert_eq!(y.backward()?.get(&x).unwrap().to_vec1::<f32>()?, [2.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[track_caller]
pub fn record_function(
    name: impl Into<Arc<str>>,
    inputs: &[&Tensor],
    outputs: &[Tensor],
    differentiable: &[bool],
    backward: Arc<FunctionBackward>,
) -> Result<Vec<Tensor>> {
    record_function_in_place(name, inputs, outputs, differentiable, &[], backward)
}

/// As [`record_function`], for a function that has also changed inputs in place: those of its outputs that `changed` marks. They get the new
/// history and come back as they are.
///
/// # Errors
/// Also for a changed output that is a leaf that needs a gradient, or a view of one.
#[track_caller]
pub fn record_function_in_place(
    name: impl Into<Arc<str>>,
    inputs: &[&Tensor],
    outputs: &[Tensor],
    differentiable: &[bool],
    changed: &[bool],
    backward: Arc<FunctionBackward>,
) -> Result<Vec<Tensor>> {
    let at = Location::caller();
    let name = name.into();
    if differentiable.len() != outputs.len() {
        let given = format!("{} flags", differentiable.len());
        return Err(Error::value(name.to_string(), "differentiable", given, format!("{} of them", outputs.len())));
    }
    let changed = |i: usize| changed.get(i).copied().unwrap_or(false);
    let is_input = |t: &Tensor| inputs.iter().any(|input| input.id() == t.id());
    if !is_grad_enabled() || !inputs.iter().any(|input| input.requires_grad()) {
        let plain = |(i, t): (usize, &Tensor)| {
            if is_input(t) && !changed(i) { t.with_layout(t.layout().clone()) } else { t.clone() }
        };
        return Ok(outputs.iter().enumerate().map(plain).collect());
    }
    for (_, output) in outputs.iter().enumerate().filter(|(i, _)| changed(*i)) {
        check_write(&name, output)?;
    }
    let edges = inputs.iter().map(|input| input.edge()).collect();
    let saved = Saved { function: Some(backward), ..Saved::default() };
    let metas = inputs.iter().map(|input| input.shared_meta());
    let node = Node::new(Action::Function(name), at, metas, outputs.iter(), edges, saved);
    let finish = |(i, output): (usize, &Tensor)| {
        let origin = (node.clone(), i);
        if !differentiable[i] || !is_differentiable(output) {
            return if is_input(output) || output.requires_grad() { output.detach() } else { output.clone() };
        }
        if changed(i) {
            rewrite(output, origin);
        } else if is_input(output) || output.requires_grad() || output.base().is_some() {
            return Tensor::with_slot(output.shared_meta().clone(), output.storage().clone(), Slot::computed(origin));
        } else {
            output.slot().set(true, Some(origin));
        }
        output.clone()
    };
    Ok(outputs.iter().enumerate().map(finish).collect())
}

/// Records a view that shows the elements of `input` as those of another dtype, with the gradient that `backward` makes of its own. It stays a view: what is
/// written into either is part of the history of both.
#[track_caller]
pub(crate) fn record_view(name: &str, input: &Tensor, view: Tensor, backward: Arc<FunctionBackward>) -> Tensor {
    let shown = Tensor::with_slot(view.shared_meta().clone(), view.storage().clone(), Slot::view_of(input));
    if is_grad_enabled() && input.requires_grad() {
        let edges = [input.edge()].into_iter().collect();
        let saved = Saved { function: Some(backward), ..Saved::default() };
        let metas = [input.shared_meta()].into_iter();
        let node =
            Node::new(Action::Function(name.into()), Location::caller(), metas, [&shown].into_iter(), edges, saved);
        shown.slot().set(true, Some((node, 0)));
    }
    shown
}

/// Runs a function's own backward and fits what it returns to the inputs.
pub(super) fn backward(name: &Arc<str>, ctx: &Backward<'_>) -> Result<Grads> {
    let needs: SmallVec<[bool; 4]> = (0..ctx.input_count()).map(|i| ctx.needs(i)).collect();
    let grads = match &ctx.saved.function {
        Some(function) => function(ctx.grads, &needs)?,
        None => return Err(Error::autograd(name.to_string(), "backward", "freed", "a function's backward")),
    };
    if grads.len() != needs.len() {
        let given = format!(
            "function {name} returned an incorrect number of gradients (expected {}, got {})",
            needs.len(),
            grads.len()
        );
        return Err(Error::autograd(name.to_string(), "backward", given, "one for each input"));
    }
    let fitted = |(i, grad): (usize, Option<Tensor>)| match grad {
        Some(grad) if needs[i] => fit(name, i, grad, ctx.input_meta(i)).map(Some),
        _ => Ok(None),
    };
    grads.into_iter().enumerate().map(fitted).collect()
}

fn fit(name: &Arc<str>, i: usize, grad: Tensor, input: &Meta) -> Result<Tensor> {
    let grad = if grad.dtype() == input.dtype { grad } else { grad.to_dtype(input.dtype)? };
    if stretches(input.shape(), grad.shape()) {
        return sum_to(&grad, input.shape());
    }
    let given = format!(
        "Function {name} returned an invalid gradient at index {i} - got {:?} but expected shape compatible with {:?}",
        grad.dims(),
        input.dims()
    );
    Err(Error::autograd(name.to_string(), "backward", given, "gradients of the inputs' shapes"))
}

/// Whether broadcasting stretches `from` to exactly `to`.
fn stretches(from: &Shape, to: &Shape) -> bool {
    from.rank() <= to.rank() && from.dims().iter().rev().zip(to.dims().iter().rev()).all(|(&a, &b)| a == b || a == 1)
}

/// A tensor that a function keeps for its backward, with a check that nobody changes it in place until then.
///
/// Of an output only the elements are held: its place in the graph would be a reference cycle. Once the output is recorded,
/// [`SavedTensor::bind`] tells where that is.
pub struct SavedTensor {
    meta: SharedMeta,
    elements: Elements,
    edge: Option<Edge>,
    output: OnceLock<(Weak<Node>, usize)>,
}

impl SavedTensor {
    /// Saves a tensor at its current version.
    pub fn new(tensor: &Tensor, is_output: bool) -> Self {
        SavedTensor {
            meta: tensor.shared_meta().clone(),
            elements: Elements::of(tensor),
            edge: if is_output { None } else { tensor.edge() },
            output: OnceLock::new(),
        }
    }

    /// Tells a saved output's place in the graph, once it is recorded: what is unpacked from then on can be differentiated.
    pub fn bind(&self, output: &Tensor) {
        if let (None, Some(Edge::Node(node, i))) = (&self.edge, output.edge()) {
            self.output.get_or_init(|| (Arc::downgrade(&node), i));
        }
    }

    /// The tensor as it was saved.
    ///
    /// # Errors
    /// When its elements were changed in place since.
    pub fn unpack(&self) -> Result<Tensor> {
        if let Some(given) = self.elements.changed() {
            let accepted = "a tensor not changed in place since it was saved";
            return Err(Error::autograd("unpack", "saved tensor", given, accepted));
        }
        let slot = match (&self.edge, self.output.get().and_then(|(node, i)| Some((node.upgrade()?, *i)))) {
            (Some(Edge::Leaf(leaf)), _) => return Ok(leaf.clone()),
            (Some(Edge::Node(node, i)), _) => Slot::computed((node.clone(), *i)),
            (None, Some(origin)) => Slot::computed(origin),
            (None, None) => Slot::default(),
        };
        Ok(self.elements.tensor(self.meta.clone(), slot))
    }
}
