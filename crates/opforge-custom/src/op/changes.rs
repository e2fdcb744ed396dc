//! Which inputs an operator changes in place, and which outputs are inputs.

use crate::schema::Schema;

/// Settled with the schema; an operator without one changes nothing.
#[derive(Clone, Default)]
pub(super) struct Changes {
    /// Of each input, whether it is changed.
    inputs: Vec<bool>,
    /// Of each declared output, the input that it is.
    outputs: Vec<Option<usize>>,
    /// The inputs that are changed without being outputs. Behind the declared outputs, the VM takes them for further ones.
    pub only: Vec<usize>,
}

impl Changes {
    pub fn of(schema: &Schema) -> Self {
        let inputs: Vec<bool> = schema.tensors().map(|(_, changed)| changed).collect();
        let is_only = |&i: &usize| inputs[i] && !schema.outputs.contains(&Some(i));
        let only = (0..inputs.len()).filter(is_only).collect();
        Changes { inputs, outputs: schema.outputs.clone(), only }
    }

    /// Whether any input is changed.
    pub fn any(&self) -> bool {
        self.inputs.contains(&true)
    }

    /// Whether an input is changed.
    pub fn input(&self, i: usize) -> bool {
        self.inputs.get(i) == Some(&true)
    }

    /// Which input a declared output is, if it is one.
    pub fn alias(&self, output: usize) -> Option<usize> {
        self.outputs.get(output).copied().flatten()
    }

    /// As [`Changes::alias`], of all outputs that the VM knows, `count` of which are declared.
    pub fn aliases(&self, count: usize) -> impl Iterator<Item = Option<usize>> {
        (0..count).map(|i| self.alias(i)).chain(self.only.iter().copied().map(Some))
    }

    /// The inputs that are outputs for the VM, if those are all that it knows: nothing has to be inferred of them.
    pub fn are_all_outputs(&self) -> Option<impl Iterator<Item = usize>> {
        let known = self.any() && self.outputs.iter().all(Option::is_some);
        known.then(|| self.outputs.iter().copied().flatten().chain(self.only.iter().copied()))
    }
}
