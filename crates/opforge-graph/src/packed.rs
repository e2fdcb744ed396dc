//! Weights that a program's products read packed: arranged once, and anew when they have changed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use opforge::dispatch::dispatch;
use opforge::fusion::Access;
use opforge::{Result, Tensor, no_grad};
use opforge_runtime::Prepack;

use crate::graph::{Graph, Origin, Use, Value};
use crate::kernel::Step;
use crate::run::Run;

/// How a weight is arranged.
#[derive(Clone)]
pub struct Packing {
    pub(crate) weight: Use,
    prepack: Arc<Prepack>,
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

/// A packed weight, as a program's runs read it.
pub(crate) struct Packed {
    /// The bytes of the weight's memory, from its first element on.
    weight: Tensor,
    pack: Run,
    /// The arrangement, and how often the weight had been changed when it was made.
    held: Mutex<Option<(u64, Tensor)>>,
}

/// Those that are in use, by the weight's place and the arrangement: programs for many shapes share one.
static IN_USE: LazyLock<Mutex<HashMap<Key, Weak<Packed>>>> = LazyLock::new(Mutex::default);

/// The weight's storage, which the packed weight keeps, its first byte there, and the arrangement.
type Key = (usize, usize, [usize; 6]);

impl Packing {
    /// The packed weight, whose memory is given from its first element on, as bytes.
    pub(crate) fn of(&self, weight: Tensor) -> Arc<Packed> {
        let key = (Arc::as_ptr(weight.storage()).addr(), weight.layout().start_offset(), self.prepack.arrangement);
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(packed) = in_use.get(&key).and_then(Weak::upgrade) {
            return packed;
        }
        in_use.retain(|_, packed| packed.strong_count() > 0);
        let pack = Run::new(self.prepack.pack.clone(), vec![weight.elem_count()], vec![self.prepack.bytes], Vec::new());
        let packed = Arc::new(Packed { weight, pack, held: Mutex::new(None) });
        in_use.insert(key, Arc::downgrade(&packed));
        packed
    }
}

impl Packed {
    /// The arrangement of the weight as it is now; at every run anew, once others may change it unseen.
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub fn tensor(&self) -> Result<Tensor> {
        let storage = self.weight.storage();
        let changes = storage.changes();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some((at, packed)) if *at == changes && !storage.is_exposed() => Ok(packed.clone()),
            _ => {
                let made = no_grad(|| dispatch(&self.pack, &[&self.weight]))?.into_iter().next();
                let packed = made.ok_or_else(|| opforge::Error::msg("a kernel that packs nothing"))?;
                Ok(held.insert((changes, packed)).1.clone())
            }
        }
    }
}
