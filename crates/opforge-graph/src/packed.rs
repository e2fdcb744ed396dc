//! Weights that a program's products read packed: arranged once, and anew when they have changed ([`opforge::dispatch::arranged`]).

use std::sync::Arc;

use opforge::fusion::Access;
use opforge_runtime::Prepack;

use crate::graph::{Graph, Origin, Use, Value};
use crate::kernel::Step;

/// How a weight is arranged.
#[derive(Clone)]
pub struct Packing {
    pub(crate) weight: Use,
    pub(crate) prepack: Arc<Prepack>,
}

impl std::fmt::Debug for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Packing").field(&self.weight).finish()
    }
}

impl Graph {
    /// The step with a packed weight in place of one that was captured and that no call changes, where its kernel gains from that.
    pub(crate) fn prepacked(&mut self, mut step: Step) -> Step {
        let Some(prepack) = step.kernel.prepack().map(Arc::new) else {
            return step;
        };
        let weight = &self.nodes[step.nodes.start].inputs[prepack.input];
        // What others may change unseen would be arranged for each run.
        let is_known = match &self.values[weight.value].origin {
            Origin::Captured(captured) => captured.storage().is_ok_and(|storage| !storage.is_exposed()),
            _ => false,
        };
        let is_written = || self.nodes.iter().flat_map(|node| &node.outputs).any(|x| x.value == weight.value);
        if !is_known || is_written() {
            return step;
        }
        let origin = Origin::Packed(Packing { weight: weight.clone(), prepack: prepack.clone() });
        step.inputs[prepack.input] = Access { storage: self.values.len(), byte_offset: 0 };
        step.kernel = prepack.kernel.clone();
        self.values.push(Value { bytes: prepack.bytes, origin });
        step
    }
}
