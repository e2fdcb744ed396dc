//! What gradients need of functions of single elements is made again in the backward program instead of being kept between the programs, where what it is made
//! of is kept anyway: as `gelu(a)` beside `a`, which its own gradient needs. So kept memory is less by the results, and the time is that of one pass.

use std::collections::{BTreeMap, BTreeSet};

use opforge::Result;
use opforge::fusion::Kind;

use crate::graph::{Graph, Node};
use crate::kernel::part;

/// Of the kept values those that calls of `graph` make again of the others, and these calls in order.
///
/// # Errors
/// What operators refuse of these tensors.
pub(crate) fn recomputed(graph: &Graph, kept: &BTreeSet<usize>) -> Result<(BTreeSet<usize>, Vec<Node>)> {
    let (writes, returned) = (graph.writes(), graph.marks(&graph.outputs));
    let is_made_once = |value: usize| graph.is_made(value) && writes[value] == 1;
    // What functions of single elements make of kept values, directly or not.
    let mut derived = BTreeSet::new();
    for node in &graph.nodes {
        let [output] = &node.outputs[..] else { continue };
        let there = |value: usize| is_made_once(value) && (kept.contains(&value) || derived.contains(&value));
        let of_kept = !node.inputs.is_empty() && node.inputs.iter().all(|input| there(input.value));
        if of_kept && is_made_once(output.value) && part(node)?.is_some_and(|part| part.kind == Kind::Map) {
            derived.insert(output.value);
        }
    }
    let again: BTreeSet<usize> = kept.intersection(&derived).copied().filter(|&value| !returned[value]).collect();
    let (mut wanted, mut calls) = (again.clone(), Vec::new());
    for node in graph.nodes.iter().rev().filter(|node| node.outputs.len() == 1) {
        if !wanted.contains(&node.outputs[0].value) {
            continue;
        }
        let still_kept = |value: usize| kept.contains(&value) && !again.contains(&value);
        wanted.extend(node.inputs.iter().map(|input| input.value).filter(|&value| !still_kept(value)));
        calls.push(node.clone());
    }
    calls.reverse();
    Ok((again, calls))
}

impl Graph {
    /// The graph with further calls, of one result each, made when a call first reads their results: so these take memory no earlier.
    pub(crate) fn with_calls(mut self, calls: Vec<Node>) -> Graph {
        let mut waiting: BTreeMap<usize, Node> = calls.into_iter().map(|call| (call.outputs[0].value, call)).collect();
        let mut nodes = Vec::with_capacity(self.nodes.len() + waiting.len());
        for node in std::mem::take(&mut self.nodes) {
            node.inputs.iter().for_each(|input| make(input.value, &mut waiting, &mut nodes));
            nodes.push(node);
        }
        self.outputs.iter().for_each(|output| make(output.value, &mut waiting, &mut nodes));
        self.nodes = nodes;
        self
    }
}

/// Adds the call that makes a value, after those that make what it reads.
fn make(value: usize, waiting: &mut BTreeMap<usize, Node>, nodes: &mut Vec<Node>) {
    if let Some(call) = waiting.remove(&value) {
        call.inputs.iter().for_each(|input| make(input.value, waiting, nodes));
        nodes.push(call);
    }
}
