//! When gradients of leaves are complete while a backward still runs.
//!
//! Where leaves have hooks that run after their gradient is stored (`register_post_accumulate_grad_hook`), backward counts the edges that lead to
//! them. It stores such a gradient, and calls the hook, when the last edge has delivered. So `DistributedDataParallel` sends gradients while backward
//! goes on. All other gradients are stored at the end, when nothing can fail any more.

use std::collections::HashMap;

use super::Node;
use super::hooks::{has_after_hooks, may_have_after_hooks};
use super::reach::{Reach, ancestors};
use super::slot::Edge;
use crate::{Tensor, TensorId};

/// Leaves with hooks that wait for their gradients, each with how many edges may still deliver to it. Nodes that no gradient reaches are never
/// counted off: their leaves are left for the end.
#[derive(Default)]
pub(super) struct Countdown(HashMap<TensorId, usize>);

impl Countdown {
    /// Counts the edges of all nodes that the roots depend on.
    pub fn new(roots: &[(Tensor, Option<Tensor>)], reach: Option<&Reach>) -> Self {
        let mut counts = HashMap::new();
        // The walk costs time, and few programs have such hooks.
        if may_have_after_hooks() {
            for node in ancestors(roots).values() {
                for leaf in leaves(node).filter(|leaf| has_after_hooks(leaf)) {
                    if reach.is_none_or(|reach| reach.contains(&Edge::Leaf(leaf.clone()))) {
                        *counts.entry(leaf.id()).or_insert(0) += 1;
                    }
                }
            }
        }
        Countdown(counts)
    }

    /// The leaves whose last edge was one of this node, which is done.
    pub fn completed_by(&mut self, node: &Node) -> Vec<Tensor> {
        if self.0.is_empty() {
            return Vec::new();
        }
        leaves(node).filter(|leaf| self.count_off(leaf.id())).cloned().collect()
    }

    fn count_off(&mut self, leaf: TensorId) -> bool {
        let Some(left) = self.0.get_mut(&leaf) else { return false };
        *left -= 1;
        if *left == 0 {
            self.0.remove(&leaf);
        }
        !self.0.contains_key(&leaf)
    }
}

fn leaves(node: &Node) -> impl Iterator<Item = &Tensor> {
    node.edges.iter().flatten().filter_map(|edge| match edge {
        Edge::Leaf(leaf) => Some(leaf),
        Edge::Node(..) => None,
    })
}
