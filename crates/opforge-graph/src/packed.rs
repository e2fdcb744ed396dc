//! Weights that a program's products and convolutions read packed: arranged once, and anew when they have changed ([`opforge::dispatch::arranged`]).

use opforge::fusion::Access;
use opforge_runtime::Prepack;

use crate::graph::{Graph, Origin, Use, Value};
use crate::kernel::Step;

/// How a weight is arranged.
#[derive(Clone)]
pub struct Packing {
    pub(crate) weight: Use,
    pub(crate) prepack: Prepack,
}

impl std::fmt::Debug for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Packing").field(&self.weight).finish()
    }
}

impl Graph {
    /// The step with a packed weight in place of one that was captured and that no call changes, where its kernel gains from that.
    pub(crate) fn prepacked(&mut self, mut step: Step) -> Step {
        if let Some(prepack) = step.kernel.prepack()
            && let Some(access) = self.packed(step.nodes.start, &prepack)
        {
            step.inputs[prepack.input] = access;
            step.kernel = prepack.kernel;
        }
        step
    }

    /// Where an input of a call lies arranged, if it was captured and no call changes it.
    pub(crate) fn packed(&mut self, node: usize, prepack: &Prepack) -> Option<Access> {
        let weight = self.nodes[node].inputs[prepack.input].clone();
        // What others may change unseen would be arranged for each run.
        let is_known = match &self.values[weight.value].origin {
            Origin::Captured(captured) => captured.storage().is_ok_and(|storage| !storage.is_exposed()),
            _ => false,
        };
        let is_written = || self.nodes.iter().flat_map(|node| &node.outputs).any(|x| x.value == weight.value);
        if !is_known || is_written() {
            return None;
        }
        self.values
            .push(Value { bytes: prepack.bytes, origin: Origin::Packed(Packing { weight, prepack: prepack.clone() }) });
        Some(Access { storage: self.values.len() - 1, byte_offset: 0 })
    }
}
