//! What a backward for some tensors only has to visit: the nodes on the way to them are marked first, in ascending order, and all others are left
//! alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::Node;
use super::slot::Edge;
use crate::{Error, Result, Tensor, TensorId};

/// What a backward for some tensors only has to visit: the nodes between the roots and them.
#[derive(Default)]
pub(crate) struct Reach {
    /// Leaves that are asked for.
    leaves: HashSet<TensorId>,
    /// Computed tensors that are asked for, as outputs of nodes.
    outputs: HashMap<(u64, usize), Vec<TensorId>>,
    /// Nodes that have to receive gradients, by sequence number.
    nodes: HashSet<u64>,
}

impl Reach {
    /// The way from the roots to the inputs.
    pub(super) fn new(op: &'static str, roots: &[(Tensor, Option<Tensor>)], inputs: &[&Tensor]) -> Result<Self> {
        let mut reach = Reach::default();
        for input in inputs {
            match input.edge() {
                Some(Edge::Leaf(leaf)) => drop(reach.leaves.insert(leaf.id())),
                Some(Edge::Node(node, output)) => {
                    reach.outputs.entry((node.sequence, output)).or_default().push(input.id());
                    reach.nodes.insert(node.sequence);
                }
                None => {
                    let given = "One of the differentiated Tensors does not require grad (requires_grad=False)";
                    return Err(Error::autograd(op, "input", given, "tensors that need a gradient"));
                }
            }
        }
        // Ascending numbers: what a node depends on is decided before it.
        for node in ancestors(roots).values() {
            if node.edges.iter().flatten().any(|edge| reach.contains(edge)) {
                reach.nodes.insert(node.sequence);
            }
        }
        Ok(reach)
    }

    /// Whether a gradient has to be passed there.
    pub(super) fn contains(&self, edge: &Edge) -> bool {
        match edge {
            Edge::Leaf(leaf) => self.leaves.contains(&leaf.id()),
            Edge::Node(node, _) => self.nodes.contains(&node.sequence),
        }
    }

    /// The tensors asked for that are this output of this node.
    pub(super) fn asked(&self, node: &Node, output: usize) -> &[TensorId] {
        self.outputs.get(&(node.sequence, output)).map_or(&[], Vec::as_slice)
    }
}

/// Whether a backward has freed something that a tensor's gradient needs.
pub fn is_freed(tensor: &Tensor) -> bool {
    ancestors(&[(tensor.clone(), None)]).values().any(|node| node.is_freed())
}

/// All nodes that the roots depend on, by sequence number.
pub(super) fn ancestors(roots: &[(Tensor, Option<Tensor>)]) -> BTreeMap<u64, Arc<Node>> {
    let mut found = BTreeMap::new();
    let mut open: Vec<Edge> = roots.iter().filter_map(|(root, _)| root.edge()).collect();
    while let Some(edge) = open.pop() {
        let Edge::Node(node, _) = edge else { continue };
        if found.insert(node.sequence, node.clone()).is_none() {
            open.extend(node.edges.iter().flatten().cloned());
        }
    }
    found
}
