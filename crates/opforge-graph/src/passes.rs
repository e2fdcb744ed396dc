//! Changes of graphs that leave results as they are.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::graph::{Graph, Node, Use};

impl Graph {
    /// Leaves out calls whose results nobody reads.
    pub fn without_dead_code(mut self) -> Graph {
        let mut read = vec![false; self.values.len()];
        self.outputs.iter().for_each(|output| read[output.value] = true);
        let made: Vec<bool> = (0..self.values.len()).map(|value| self.is_made(value)).collect();
        let mut kept: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in self.nodes.iter().rev() {
            let is_needed =
                node.op.has_effects() || node.outputs.iter().any(|output| read[output.value] || !made[output.value]);
            if is_needed {
                node.inputs.iter().for_each(|input| read[input.value] = true);
            }
            kept.push(is_needed);
        }
        let mut kept = kept.into_iter().rev();
        self.nodes.retain(|_| kept.next().unwrap_or(true));
        self
    }

    /// Makes equal calls on equal tensors one, as long as nobody writes what they read or made. Results that are memory of their own stay that.
    pub fn without_common_calls(mut self) -> Graph {
        let writes = self.writes();
        let made: Vec<bool> = (0..self.values.len()).map(|value| self.is_made(value)).collect();
        let is_constant = |value: usize| writes[value] == usize::from(made[value]);
        let mut replaced: Vec<usize> = (0..self.values.len()).collect();
        let mut kept: Vec<Node> = Vec::with_capacity(self.nodes.len());
        let mut alike = HashMap::<u64, Vec<usize>>::new();
        let mut returned = vec![false; self.values.len()];
        self.outputs.iter().for_each(|output| returned[output.value] = true);
        for mut node in self.nodes {
            node.inputs.iter_mut().for_each(|input| input.value = replaced[input.value]);
            let tensors = node.inputs.iter().chain(&node.outputs);
            let is_pure = !node.op.has_effects() && tensors.clone().all(|x| is_constant(x.value));
            let is_new = |node: &Node| node.outputs.iter().all(|x| made[x.value] && is_constant(x.value));
            let alike = alike.entry(key(&node)).or_default();
            let is_twin = |other: &&Node| is_new(other) && other.inputs == node.inputs && other.op.same(&*node.op);
            let twin = alike.iter().map(|&number| &kept[number]).find(is_twin);
            let is_result = |node: &Node| node.outputs.iter().any(|x| returned[x.value]);
            match twin.filter(|twin| is_pure && is_new(&node) && !(is_result(&node) && is_result(twin))) {
                Some(twin) => {
                    for (x, y) in node.outputs.iter().zip(&twin.outputs) {
                        replaced[x.value] = y.value;
                        returned[y.value] |= returned[x.value];
                    }
                }
                None => {
                    alike.push(kept.len());
                    kept.push(node);
                }
            }
        }
        self.outputs.iter_mut().for_each(|output| output.value = replaced[output.value]);
        self.nodes = kept;
        self
    }

    /// Moves calls that make little, and do not come after a call that makes much for what they read or write, to the beginning: what a norm makes of its
    /// statistics does not stand between a convolution and what follows it, nor the count of a step between the updates of a weight.
    pub fn with_small_calls_first(mut self) -> Graph {
        // By calls that stay where they are.
        let (mut read, mut written) = (vec![false; self.values.len()], vec![false; self.values.len()]);
        let mut moves = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let is_small = |x: &Use| self.values[x.value].bytes <= SMALL;
            let waits = node.inputs.iter().any(|x| written[x.value])
                || node.outputs.iter().any(|x| read[x.value] || written[x.value]);
            let is_moved = !waits && !node.op.has_effects() && node.outputs.iter().all(is_small);
            if !is_moved {
                node.inputs.iter().for_each(|x| read[x.value] = true);
                node.outputs.iter().for_each(|x| written[x.value] = true);
            }
            moves.push(is_moved);
        }
        let mut moves = moves.into_iter();
        let (mut nodes, others): (Vec<Node>, Vec<Node>) =
            self.nodes.into_iter().partition(|_| moves.next().unwrap_or(false));
        nodes.extend(others);
        self.nodes = nodes;
        self
    }
}

/// Up to so many bytes a result is small.
const SMALL: usize = 16 << 10;

/// What equal calls have in common.
fn key(node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.op.key_hash().hash(&mut hasher);
    node.inputs.hash(&mut hasher);
    hasher.finish()
}
