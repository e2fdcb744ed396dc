//! Changes of graphs that leave results as they are.

use crate::graph::Graph;

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

    /// Makes equal calls on equal tensors one, as long as nobody writes what they read or made.
    pub fn without_common_calls(mut self) -> Graph {
        let mut writes = vec![0usize; self.values.len()];
        for output in self.nodes.iter().flat_map(|node| &node.outputs) {
            writes[output.value] += 1;
        }
        let made: Vec<bool> = (0..self.values.len()).map(|value| self.is_made(value)).collect();
        let is_constant = |value: usize| writes[value] == usize::from(made[value]);
        let mut replaced: Vec<usize> = (0..self.values.len()).collect();
        let mut kept: Vec<crate::Node> = Vec::with_capacity(self.nodes.len());
        for mut node in self.nodes {
            node.inputs.iter_mut().for_each(|input| input.value = replaced[input.value]);
            let tensors = node.inputs.iter().chain(&node.outputs);
            let is_pure = !node.op.has_effects() && tensors.clone().all(|x| is_constant(x.value));
            let twin = kept.iter().filter(|_| is_pure).find(|other| {
                let of_twin = other.outputs.iter().all(|x| made[x.value] && is_constant(x.value));
                of_twin && other.inputs == node.inputs && other.op.same(&*node.op)
            });
            match twin {
                Some(twin) if node.outputs.iter().all(|x| made[x.value]) => {
                    node.outputs.iter().zip(&twin.outputs).for_each(|(x, y)| replaced[x.value] = y.value);
                }
                _ => kept.push(node),
            }
        }
        self.outputs.iter_mut().for_each(|output| output.value = replaced[output.value]);
        self.nodes = kept;
        self
    }
}
