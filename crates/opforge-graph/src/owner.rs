//! Results in the place of what they are made of: where an operator may write over an operand that nothing reads afterwards, no other memory is needed.

use crate::graph::{Graph, Node, Use};
use crate::memory::Lifetime;

impl Graph {
    /// For each value the one in whose place it lies, which may be itself. `steps` are the calls that are kernels of their own, none for other kernels;
    /// `lives` says from which of them to which each value is needed, and `passes` whether it is memory between them.
    pub(crate) fn owners(
        &self,
        steps: impl Iterator<Item = Option<usize>>,
        lives: &[Option<Lifetime>],
        passes: impl Fn(&usize) -> bool,
    ) -> Vec<usize> {
        let mut owners: Vec<usize> = (0..self.values.len()).collect();
        for (step, node) in steps.enumerate() {
            let Some(node) = node.map(|number| &self.nodes[number]) else { continue };
            let [output] = &node.outputs[..] else { continue };
            let begins = |x: &Use| lives[x.value].is_some_and(|life| life.first == step);
            let ends = |x: &Use| lives[x.value].is_some_and(|life| life.last == step);
            let fits = |x: &&Use| {
                let same_size = self.values[x.value].bytes == self.values[output.value].bytes;
                same_size && passes(&x.value) && ends(x) && may_overwrite(node, x.value, output)
            };
            if !passes(&output.value) || !begins(output) {
                continue;
            }
            if let Some(operand) = node.inputs.iter().find(fits) {
                owners[output.value] = owners[operand.value];
            }
        }
        owners
    }
}

/// Whether a call's result may be written over a value, all views of which that it reads are the same as the result's.
fn may_overwrite(node: &Node, value: usize, output: &Use) -> bool {
    let mut reads = node.inputs.iter().enumerate().filter(|(_, x)| x.value == value);
    output.value != value && reads.all(|(i, x)| x.meta == output.meta && node.op.overwrites(i))
}

/// When the places of values are needed, by their owners.
pub(crate) fn shared(lives: &[Option<Lifetime>], owners: &[usize]) -> Vec<Option<Lifetime>> {
    let mut together: Vec<Option<Lifetime>> = vec![None; lives.len()];
    for (life, &owner) in lives.iter().zip(owners) {
        let Some(life) = life else { continue };
        let all = together[owner].get_or_insert(*life);
        (all.first, all.last) = (all.first.min(life.first), all.last.max(life.last));
    }
    together
}
