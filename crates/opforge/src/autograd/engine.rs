//! Backward: from the roots' seeds to the gradients of leaves, node by node.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use smallvec::SmallVec;

use super::anomaly::check_nan;
use super::countdown::Countdown;
use super::ending::with_endings;
use super::hooks::{run_after_hooks, run_leaf_hooks};
use super::node::Action;
use super::reach::Reach;
use super::slot::Edge;
use super::{Backward, GradMode, GradStore, Node, is_grad_enabled};
use crate::{Error, Result, Tensor, TensorId};

/// How a backward treats the graph.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackwardOptions {
    /// Keep what operators saved, so that backward can run again.
    pub retain_graph: bool,
    /// Record the backward itself, so that its results can be differentiated. Implies `retain_graph`.
    pub create_graph: bool,
}

/// The gradients of `sum(root * seed)` over all roots, with respect to every leaf. A missing seed stands for ones.
///
/// # Errors
/// As [`Tensor::backward`]; for seeds of another shape than their root's.
#[track_caller]
pub fn backward(roots: &[(Tensor, Option<Tensor>)], options: BackwardOptions) -> Result<GradStore> {
    let mut store = GradStore::default();
    for (leaf, grad) in leaf_gradients(roots, options, |_| true)? {
        store.insert(&leaf, grad);
    }
    Ok(store)
}

/// As [`backward`]: the leaves, each with its gradient, after its hooks if it is to be `hooked`.
///
/// # Errors
/// As [`backward`].
#[track_caller]
pub fn leaf_gradients(
    roots: &[(Tensor, Option<Tensor>)],
    options: BackwardOptions,
    hooked: impl Fn(&Tensor) -> bool,
) -> Result<Vec<(Tensor, Tensor)>> {
    let mut engine = Engine::walk(roots, options, None, Countdown::default())?;
    engine.run_hooks(options, hooked)?;
    Ok(engine.leaves.gradients().collect())
}

/// The gradients of `sum(root * seed)` with respect to the given tensors, leaves or not; `None` where nothing depends on one. Only what lies
/// between the roots and these tensors is visited, and freed. It does not change [`Tensor::grad`] of leaves.
///
/// # Errors
/// As [`backward`]; for an input that needs no gradient.
pub fn grad(
    roots: &[(Tensor, Option<Tensor>)],
    inputs: &[&Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    let reach = Reach::new("grad", roots, inputs)?;
    let engine = Engine::run(roots, options, Some(&reach), Countdown::default())?;
    keep(engine.retained, options)?;
    let mut found = engine.captured;
    for (leaf, grad) in engine.leaves.gradients() {
        found.insert(leaf.id(), grad);
    }
    Ok(inputs.iter().map(|input| found.get(&input.id()).cloned()).collect())
}

/// Adds the gradients of `sum(root * seed)` to [`Tensor::grad`] of every leaf and of every tensor with [`Tensor::retain_grad`]; or of the
/// given inputs only, leaves or not. A missing seed stands for one.
///
/// Nothing is added when it fails, but to leaves with hooks that run [after](Tensor::register_post_accumulate_grad_hook) that: those get their gradients
/// as soon as they are complete.
///
/// # Errors
/// As [`backward`] and [`grad`], and for roots that [`check_roots`] refuses.
///
/// ```
/// # use opforge::{Device, Var, autograd};
/// let x = Var::new(&[1f32, 2.0], &Device::Cpu)?;
/// for _ in 0..2 {
///     autograd::accumulate(&[(x.sqr()?.sum_all()?, None)], None, Default::default())?;
/// }
/// assert_eq!(x.grad().unwrap().to_vec1::<f32>()?, [4.0, 8.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[track_caller]
pub fn accumulate(
    roots: &[(Tensor, Option<Tensor>)],
    inputs: Option<&[&Tensor]>,
    options: BackwardOptions,
) -> Result<()> {
    check_roots(roots)?;
    let reach = inputs.map(|inputs| Reach::new("backward", roots, inputs)).transpose()?;
    for input in inputs.unwrap_or_default() {
        input.retain_grad()?;
    }
    with_endings(|| {
        let countdown = Countdown::new(roots, reach.as_ref());
        let Engine { leaves, retained, .. } = Engine::run(roots, options, reach.as_ref(), countdown)?;
        keep(retained, options)?;
        let _mode = GradMode::set(options.create_graph);
        let leaves: Vec<Tensor> =
            (leaves.gradients()).map(|(leaf, grad)| leaf.add_grad(grad).map(|()| leaf)).collect::<Result<_>>()?;
        leaves.iter().try_for_each(run_after_hooks)
    })
}

/// Adds to the gradients of computed tensors that keep theirs.
fn keep(retained: Vec<(Tensor, Tensor)>, options: BackwardOptions) -> Result<()> {
    let _mode = GradMode::set(options.create_graph);
    retained.into_iter().try_for_each(|(tensor, grad)| tensor.add_grad(grad))
}

/// Refuses roots of a backward as PyTorch does: those that need no gradient, and those of several elements without a seed.
///
/// # Errors
/// For such a root.
pub fn check_roots(roots: &[(Tensor, Option<Tensor>)]) -> Result<()> {
    for (i, (root, seed)) in roots.iter().enumerate() {
        let given = if !root.requires_grad() {
            format!("element {i} of tensors does not require grad and does not have a grad_fn")
        } else if seed.is_none() && root.elem_count() != 1 {
            "grad can be implicitly created only for scalar outputs".to_owned()
        } else {
            continue;
        };
        let accepted = "tensors that need a gradient, of one element or with a gradient of their own";
        return Err(Error::autograd("backward", "root", given, accepted));
    }
    Ok(())
}

/// A node waiting for its turn, with the gradients of its outputs so far.
struct Pending {
    node: Arc<Node>,
    grads: SmallVec<[Option<Tensor>; 2]>,
}

struct Engine<'a> {
    /// By sequence number: the last entry depends on no other.
    queue: BTreeMap<u64, Pending>,
    leaves: Leaves,
    /// Leaves that get their gradients before the end.
    countdown: Countdown,
    /// Where gradients are asked for, if not everywhere.
    reach: Option<&'a Reach>,
    /// Gradients of computed tensors that are asked for.
    captured: HashMap<TensorId, Tensor>,
    /// Gradients of computed tensors that keep theirs.
    retained: Vec<(Tensor, Tensor)>,
}

/// Leaves with the sums of their gradients, in the order of their first ones.
#[derive(Default)]
struct Leaves {
    sums: Vec<(Tensor, Option<Tensor>)>,
    places: HashMap<TensorId, usize>,
}

impl<'a> Engine<'a> {
    /// Walks the graph, and runs the hooks of leaves.
    fn run(
        roots: &[(Tensor, Option<Tensor>)],
        options: BackwardOptions,
        reach: Option<&'a Reach>,
        countdown: Countdown,
    ) -> Result<Engine<'a>> {
        let mut engine = Self::walk(roots, options, reach, countdown)?;
        engine.run_hooks(options, |_| true)?;
        Ok(engine)
    }

    fn run_hooks(&mut self, options: BackwardOptions, hooked: impl Fn(&Tensor) -> bool) -> Result<()> {
        let _mode = GradMode::set(options.create_graph);
        for (leaf, sum) in self.leaves.sums.iter_mut().filter(|(leaf, _)| hooked(leaf)) {
            if let Some(grad) = sum.take() {
                *sum = Some(run_leaf_hooks(leaf, grad)?);
            }
        }
        Ok(())
    }

    fn walk(
        roots: &[(Tensor, Option<Tensor>)],
        options: BackwardOptions,
        reach: Option<&'a Reach>,
        countdown: Countdown,
    ) -> Result<Engine<'a>> {
        let mut engine = Engine {
            queue: BTreeMap::new(),
            leaves: Leaves::default(),
            countdown,
            reach,
            captured: HashMap::new(),
            retained: Vec::new(),
        };
        let _mode = GradMode::set(options.create_graph);
        for (i, (root, seed)) in roots.iter().enumerate() {
            let seed = seed_for(i, root, seed.as_ref())?;
            if let Some(edge) = root.edge() {
                engine.deliver(&edge, seed)?;
            }
        }
        let keep = options.retain_graph || options.create_graph;
        while let Some((_, pending)) = engine.queue.pop_last() {
            engine.step(pending, keep)?;
        }
        Ok(engine)
    }

    /// Passes the gradients of a node's outputs on to its inputs.
    fn step(&mut self, Pending { node, mut grads }: Pending, keep: bool) -> Result<()> {
        let retained = &mut self.retained;
        node.watchers.run(&mut grads, |tensor, grad| retained.push((tensor, grad.clone())))?;
        self.capture(&node, &grads);
        if !node.edges.iter().flatten().any(|edge| self.wants(edge)) {
            return Ok(());
        }
        let saved = node.saved(keep)?;
        if !self.add_to_part(&node, &grads)? {
            let ctx = Backward { node: &node, saved, grads: &grads, reach: self.reach };
            let input_grads = node.backward(&ctx)?;
            drop(ctx);
            drop(grads);
            for (i, (edge, grad)) in node.edges.iter().zip(input_grads).enumerate() {
                if let (Some(edge), Some(grad)) = (edge, grad) {
                    check_grad(&node, i, &grad)?;
                    check_nan(&node, i, &grad)?;
                    self.deliver(edge, grad)?;
                }
            }
        }
        self.countdown.completed_by(&node).iter().try_for_each(|leaf| self.leaves.finish(leaf))
    }

    /// Adds the gradient of a view that shows a part to the sum of its tensor's gradients, where the part lies there: not as zeros around it. False,
    /// with nothing done, for other nodes, and where there is no sum yet or somebody else may see it.
    fn add_to_part(&mut self, node: &Node, grads: &[Option<Tensor>]) -> Result<bool> {
        let (Action::Operator(op), [input], [Some(edge)], [Some(grad)]) =
            (&node.action, &node.inputs[..], &node.edges[..], grads)
        else {
            return Ok(false);
        };
        if op.view(&input.layout).is_none() || op.views_storage() {
            return Ok(false);
        }
        let sum = match edge {
            Edge::Leaf(leaf) => self.leaves.sum(leaf),
            Edge::Node(node, output) => self.queue.get(&node.sequence).and_then(|next| next.grads[*output].as_ref()),
        };
        let Some(sum) = sum.filter(|sum| can_add_to(sum) && sum.device().is_cpu()) else {
            return Ok(false);
        };
        let Some(place) = op.view(sum.layout()).transpose()? else { return Ok(false) };
        let is_part = place.shape() == grad.shape() && place.elem_count() < sum.elem_count();
        if !is_part || place.may_overlap_itself() {
            return Ok(false);
        }
        sum.with_layout(place).add_(grad)?;
        Ok(true)
    }

    fn wants(&self, edge: &Edge) -> bool {
        self.reach.is_none_or(|reach| reach.contains(edge))
    }

    fn deliver(&mut self, edge: &Edge, grad: Tensor) -> Result<()> {
        if !self.wants(edge) {
            return Ok(());
        }
        let grad = if is_grad_enabled() { grad } else { without_graph(grad) };
        match edge {
            Edge::Leaf(leaf) => self.leaves.add(leaf, grad),
            Edge::Node(node, output) => {
                let pending = self.queue.entry(node.sequence).or_insert_with(|| Pending {
                    node: node.clone(),
                    grads: SmallVec::from_elem(None, node.outputs.len()),
                });
                add(&mut pending.grads[*output], grad)
            }
        }
    }

    fn capture(&mut self, node: &Node, grads: &[Option<Tensor>]) {
        let Some(reach) = self.reach else { return };
        for (output, grad) in grads.iter().enumerate() {
            let Some(grad) = grad else { continue };
            for id in reach.asked(node, output) {
                self.captured.insert(*id, grad.clone());
            }
        }
    }
}

impl Leaves {
    fn sum(&self, leaf: &Tensor) -> Option<&Tensor> {
        self.sums[*self.places.get(&leaf.id())?].1.as_ref()
    }

    fn add(&mut self, leaf: &Tensor, grad: Tensor) -> Result<()> {
        let place = *self.places.entry(leaf.id()).or_insert(self.sums.len());
        if place == self.sums.len() {
            self.sums.push((leaf.clone(), None));
        }
        add(&mut self.sums[place].1, grad)
    }

    /// Gives a leaf its gradient, which is complete.
    fn finish(&mut self, leaf: &Tensor) -> Result<()> {
        let Some(&place) = self.places.get(&leaf.id()) else { return Ok(()) };
        let Some(grad) = self.sums[place].1.take() else { return Ok(()) };
        leaf.add_grad(run_leaf_hooks(leaf, grad)?)?;
        run_after_hooks(leaf)
    }

    fn gradients(self) -> impl Iterator<Item = (Tensor, Tensor)> {
        self.sums.into_iter().filter_map(|(leaf, sum)| Some((leaf, sum?)))
    }
}

/// Adds a gradient, in the sum's own memory if nobody else can see that.
fn add(sum: &mut Option<Tensor>, grad: Tensor) -> Result<()> {
    *sum = Some(match sum.take() {
        None => grad,
        Some(sum) if can_add_to(&sum) => {
            sum.add_(&grad)?;
            sum
        }
        Some(sum) => sum.add(&grad)?,
    });
    Ok(())
}

/// Whether a gradient may be added to a sum in place.
fn can_add_to(sum: &Tensor) -> bool {
    !sum.dtype().is_complex() && !is_grad_enabled() && sum.is_unshared() && !sum.layout().may_overlap_itself()
}

fn seed_for(i: usize, root: &Tensor, seed: Option<&Tensor>) -> Result<Tensor> {
    match seed {
        None => root.ones_like(),
        Some(seed) if seed.shape() != root.shape() => {
            let given = format!(
                "Mismatch in shape: grad_output[{i}] has a shape of {:?} and output[{i}] has a shape of {:?}",
                seed.dims(),
                root.dims()
            );
            Err(Error::shape("backward", "gradient", given, "a gradient of the root's shape"))
        }
        Some(seed) if seed.dtype() != root.dtype() => seed.to_dtype(root.dtype()),
        Some(seed) => Ok(seed.clone()),
    }
}

/// A wrong gradient shape is an operator's bug; say so where it happens instead of far away.
fn check_grad(node: &Node, i: usize, grad: &Tensor) -> Result<()> {
    let meta = node.inputs.get(i).unwrap_or_else(|| &node.outputs[i - node.inputs.len()]);
    if grad.shape() == meta.shape() && grad.dtype() == meta.dtype {
        return Ok(());
    }
    let given = format!("{:?} {}", grad.shape(), grad.dtype());
    let accepted = format!("{:?} {}, as the input", meta.shape(), meta.dtype);
    Err(Error::autograd(node.action.name().to_owned(), format!("gradient of input {i}"), given, accepted))
}

/// A gradient may be a saved tensor itself (as in `y = x * w`, where w's may be x): cut it off, or the graph would stay alive through it.
fn without_graph(grad: Tensor) -> Tensor {
    if grad.requires_grad() { grad.detach() } else { grad }
}
