use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Backward, Edge, GradMode, GradStore, Node, is_grad_enabled};
use crate::{Error, Result, Tensor, TensorId};

/// How a backward treats the graph.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackwardOptions {
    /// Keep what operators saved, so that backward can run again.
    pub retain_graph: bool,
    /// Record the backward itself, so that its results can be differentiated. Implies `retain_graph`.
    pub create_graph: bool,
}

/// A node waiting for its turn, with the gradients of its outputs so far.
struct Pending {
    node: Arc<Node>,
    grads: SmallVec<[Option<Tensor>; 2]>,
}

struct Engine<'a> {
    /// By sequence number: the last entry depends on no other.
    queue: BTreeMap<u64, Pending>,
    store: GradStore,
    /// Computed tensors whose gradients are asked for: (sequence, output) to identity.
    captures: &'a HashMap<(u64, usize), Vec<TensorId>>,
}

/// The gradients of `sum(root * seed)` over all roots, with respect to every leaf. A missing seed stands for ones.
#[track_caller]
pub fn backward(roots: &[(Tensor, Option<Tensor>)], options: BackwardOptions) -> Result<GradStore> {
    run(roots, options, &HashMap::new())
}

/// The gradients of `sum(root * seed)` with respect to the given tensors, leaves or not; `None` where nothing depends on one.
pub fn grad(
    roots: &[(Tensor, Option<Tensor>)],
    inputs: &[&Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    let mut captures: HashMap<(u64, usize), Vec<TensorId>> = HashMap::new();
    for input in inputs {
        match input.slot().edge() {
            Some(Edge::Node(node, output)) => captures.entry((node.sequence, output)).or_default().push(input.id()),
            Some(Edge::Leaf(_)) => {}
            None => {
                return Err(Error::autograd("grad", "input", "a tensor without requires_grad", "one that needs it"));
            }
        }
    }
    let store = run(roots, options, &captures)?;
    Ok(inputs.iter().map(|t| store.get(t).cloned()).collect())
}

fn run(
    roots: &[(Tensor, Option<Tensor>)],
    options: BackwardOptions,
    captures: &HashMap<(u64, usize), Vec<TensorId>>,
) -> Result<GradStore> {
    let mut engine = Engine { queue: BTreeMap::new(), store: GradStore::default(), captures };
    let _mode = GradMode::set(options.create_graph);
    for (root, seed) in roots {
        let seed = seed_for(root, seed.as_ref())?;
        if let Some(edge) = root.slot().edge() {
            engine.deliver(&edge, seed)?;
        }
    }
    let keep = options.retain_graph || options.create_graph;
    while let Some((_, Pending { node, grads })) = engine.queue.pop_last() {
        engine.capture(&node, &grads);
        let ctx = Backward { node: &node, saved: node.saved(keep)?, grads: &grads };
        let input_grads = node.op.backward(&ctx)?;
        drop(ctx);
        drop(grads);
        for (i, (edge, grad)) in node.edges.iter().zip(input_grads).enumerate() {
            if let (Some(edge), Some(grad)) = (edge, grad) {
                check_grad(&node, i, &grad)?;
                engine.deliver(edge, grad)?;
            }
        }
    }
    Ok(engine.store)
}

fn seed_for(root: &Tensor, seed: Option<&Tensor>) -> Result<Tensor> {
    match seed {
        None => root.ones_like(),
        Some(seed) if seed.shape() == root.shape() => Ok(seed.clone()),
        Some(seed) => Err(Error::shapes("backward", root.shape(), seed.shape(), "a gradient of the root's shape")),
    }
}

/// A wrong gradient shape is an operator's bug; say so where it happens instead of far away.
fn check_grad(node: &Node, i: usize, grad: &Tensor) -> Result<()> {
    let meta = &node.inputs[i];
    if grad.shape() == meta.shape() && grad.dtype() == meta.dtype {
        return Ok(());
    }
    let given = format!("{:?} {}", grad.shape(), grad.dtype());
    let accepted = format!("{:?} {}, as the input", meta.shape(), meta.dtype);
    Err(Error::autograd(node.op.name(), format!("gradient of input {i}"), given, accepted))
}

fn accumulate(sum: &mut Option<Tensor>, grad: Tensor) -> Result<()> {
    *sum = Some(match sum.take() {
        None => grad,
        Some(sum) => sum.add(&grad)?,
    });
    Ok(())
}

impl Engine<'_> {
    fn deliver(&mut self, edge: &Edge, grad: Tensor) -> Result<()> {
        let grad = if is_grad_enabled() { grad } else { without_graph(grad) };
        match edge {
            Edge::Leaf(id) => self.store.accumulate(*id, grad),
            Edge::Node(node, output) => {
                let pending = self.queue.entry(node.sequence).or_insert_with(|| Pending {
                    node: node.clone(),
                    grads: SmallVec::from_elem(None, node.outputs.len()),
                });
                accumulate(&mut pending.grads[*output], grad)
            }
        }
    }

    fn capture(&mut self, node: &Node, grads: &[Option<Tensor>]) {
        if self.captures.is_empty() {
            return;
        }
        for (output, grad) in grads.iter().enumerate() {
            let (Some(ids), Some(grad)) = (self.captures.get(&(node.sequence, output)), grad) else { continue };
            for id in ids {
                self.store.insert_id(*id, grad.clone());
            }
        }
    }
}

/// A gradient may be a saved tensor itself (as in `y = x * w`, where w's may be x): cut it off, or the graph would stay alive through it.
fn without_graph(grad: Tensor) -> Tensor {
    if grad.requires_grad() { grad.detach() } else { grad }
}

impl GradStore {
    fn accumulate(&mut self, id: TensorId, grad: Tensor) -> Result<()> {
        let mut sum = self.take_id(id);
        accumulate(&mut sum, grad)?;
        if let Some(sum) = sum {
            self.insert_id(id, sum);
        }
        Ok(())
    }
}
