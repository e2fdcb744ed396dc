//! Algebra: calls whose results are there already, by what operators say of themselves ([`Operator::law`](opforge::operator::Operator::law)).

use opforge::operator::Law;

use crate::graph::{Graph, Node, Use};

impl Graph {
    /// Leaves out calls that give what they are given, or what the call before them was given: copies, a number negated twice, a dtype and back. As long as
    /// nobody writes what they read or made; results that are memory of their own stay that.
    pub fn without_redundant_calls(mut self) -> Graph {
        let writes = self.writes();
        let made: Vec<bool> = (0..self.values.len()).map(|value| self.is_made(value)).collect();
        let is_constant = |value: usize| writes[value] == usize::from(made[value]);
        let mut returned = self.marks(&self.outputs);
        let mut replaced: Vec<usize> = (0..self.values.len()).collect();
        let mut maker: Vec<Option<usize>> = vec![None; self.values.len()];
        let mut kept: Vec<Node> = Vec::with_capacity(self.nodes.len());
        for mut node in self.nodes {
            node.inputs.iter_mut().for_each(|input| input.value = replaced[input.value]);
            let found = known(&node, |value| maker[value].map(|number| &kept[number]));
            let found = found.filter(|(output, x)| {
                let stay = made[output.value] && is_constant(output.value) && is_constant(x.value);
                // A result does not keep more memory than its own.
                let as_large = self.values[x.value].bytes == self.values[output.value].bytes;
                stay && (!returned[output.value] || made[x.value] && !returned[x.value] && as_large)
            });
            if let Some((output, x)) = found {
                replaced[output.value] = x.value;
                returned[x.value] |= returned[output.value];
                continue;
            }
            for output in &node.outputs {
                maker[output.value] = is_constant(output.value).then_some(kept.len());
            }
            kept.push(node);
        }
        self.outputs.iter_mut().for_each(|output| output.value = replaced[output.value]);
        self.nodes = kept;
        self
    }
}

/// A call's only output and the tensor that it equals, laid out alike.
fn known<'a>(node: &'a Node, maker: impl Fn(usize) -> Option<&'a Node>) -> Option<(&'a Use, &'a Use)> {
    let ([input], [output]) = (&node.inputs[..], &node.outputs[..]) else { return None };
    // The call before has made this very tensor, not one of which this is a part.
    let before = maker(input.value).filter(|before| before.inputs.len() == 1 && before.outputs[..] == node.inputs[..]);
    let law = node.op.law(&input.meta, before.map(|before| (&*before.op, &before.inputs[0].meta)))?;
    let x = match law {
        Law::Input => input,
        Law::InputBefore => &before?.inputs[0],
    };
    (x.meta == output.meta && !node.op.has_effects()).then_some((output, x))
}
