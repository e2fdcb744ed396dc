//! The operator that a program is for those who run it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use opforge::operator::{Attributes, AxisMap, Lowering, Metas, Operator};
use opforge::term::{Term, unexpected};
use opforge::{DType, Device, Error, Meta, Result};
use opforge_runtime::Kernel;
use smallvec::SmallVec;

/// Its name, and that of programs in errors.
pub(crate) const GRAPH: &str = "graph";

/// A kernel as an operator whose tensors are storages, as bytes.
#[derive(Clone)]
pub(crate) struct Run(Arc<Running>);

struct Running {
    device: Device,
    kernel: Arc<dyn Kernel>,
    /// Bytes of each input and output.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// The inputs that are the last outputs too.
    changed: Vec<usize>,
}

impl Run {
    /// Of a device's kernel, the bytes of its inputs and outputs, and those inputs that are its last outputs too.
    pub fn new(
        device: Device,
        kernel: Arc<dyn Kernel>,
        inputs: Vec<usize>,
        outputs: Vec<usize>,
        changed: Vec<usize>,
    ) -> Run {
        Run(Arc::new(Running { device, kernel, inputs, outputs, changed }))
    }

    /// The bytes of each output.
    pub fn outputs(&self) -> &[usize] {
        &self.0.outputs
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Graph")
    }
}
impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Run {}
impl Hash for Run {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl Attributes for Run {
    fn type_name() -> String {
        "Program".to_owned()
    }
    fn write(&self) -> Term {
        Term::name(Self::type_name())
    }
    fn read(term: &Term) -> Result<Self> {
        Err(unexpected(GRAPH, term, "an operator: programs are compiled from graphs"))
    }
}

impl Operator for Run {
    fn name(&self) -> &'static str {
        GRAPH
    }

    fn device(&self) -> Option<Device> {
        Some(self.0.device)
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        if !inputs.iter().map(|meta| meta.elem_count()).eq(self.0.inputs.iter().copied()) {
            return Err(Error::value(GRAPH, "inputs", "other memory", "the graph's"));
        }
        Ok(self.0.outputs.iter().map(|&bytes| Meta::contiguous(DType::U8, bytes)).collect())
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let unsplit = |count: usize| vec![SmallVec::from_elem(None, 1); count];
        AxisMap { inputs: unsplit(inputs.len()), outputs: unsplit(self.0.outputs.len()), roles: SmallVec::new() }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Prepared(self.0.kernel.clone()))
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn overwrites(&self, i: usize) -> bool {
        self.0.changed.contains(&i)
    }

    fn has_effects(&self) -> bool {
        true
    }
}
