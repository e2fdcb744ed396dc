//! A custom operator as the rest of opforge sees it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

use opforge::autograd::Backward;
use opforge::operator::{AxisMap, Grads, Lowering, Metas, Operator, Saves};
use opforge::{Meta, Result};
use smallvec::SmallVec;

use super::device_kernel::DeviceKernel;
use super::kernel::{Changed, CustomKernel};
use super::staging::Staging;
use super::{Body, Spec};
use crate::attribute::Attributes;
use crate::runner::Setup;

/// An operator with its attributes.
pub(super) struct Bound {
    pub spec: Arc<Spec>,
    pub attributes: Arc<Attributes>,
}

/// A call of an operator; equal to calls of the same operator with the same attributes.
#[derive(Clone)]
pub(super) struct Call(pub Arc<Bound>);

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Call {}

impl Hash for Call {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.0.spec.name, self.0.attributes)
    }
}

impl Operator for Call {
    fn name(&self) -> &'static str {
        self.0.spec.name
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        self.0.infer_metas(inputs)
    }

    /// As declared; otherwise nothing may be split.
    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let declared = self.0.spec.axes.as_ref().map(|(text, roles)| AxisMap::letters(text, roles));
        let fits = |map: &AxisMap| {
            map.inputs.len() == inputs.len()
                && map.inputs.iter().zip(inputs).all(|(axes, meta)| axes.len() == meta.rank())
        };
        declared.filter(fits).unwrap_or_else(|| AxisMap {
            inputs: inputs.iter().map(|meta| SmallVec::from_elem(None, meta.rank())).collect(),
            outputs: vec![],
            roles: SmallVec::new(),
        })
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        let spec = &self.0.spec;
        let runner = match &spec.body {
            Body::Kernel(runner) => runner,
            Body::Function { run, .. } => {
                let (bound, run) = (self.0.clone(), run.clone());
                return Ok(Lowering::Function(Arc::new(move |inputs| bound.outputs_of(&*run, inputs))));
            }
        };
        // What is only changed is not among the outputs that the library knows.
        let declared = outputs.len() - spec.changes.only.len();
        let aliases: Vec<Option<usize>> = spec.changes.aliases(declared).collect();
        let contiguous = |metas: &[&Meta]| -> Vec<Meta> {
            metas.iter().map(|meta| Meta::contiguous(meta.dtype, meta.shape())).collect()
        };
        let (given, made) = (contiguous(inputs), contiguous(outputs));
        let known: Vec<&Meta> = made[..declared].iter().collect();
        let prepared = runner.prepare(&Setup {
            place: &spec.place,
            attributes: &self.0.attributes,
            inputs: &given.iter().collect::<Vec<_>>(),
            outputs: &known,
            aliases: &aliases,
        })?;
        let bytes = |meta: &Meta| meta.elem_count() * meta.dtype.size_in_bytes();
        let changed = |(output, input): (usize, Option<usize>)| {
            input.map(|input| Changed { output, input, bytes: bytes(&made[output]) })
        };
        let changed = spec.changes.aliases(declared).enumerate().filter_map(changed).collect();
        if spec.is_for_cuda() {
            let (place, prepared) = (spec.place.clone(), Mutex::new(prepared));
            return Ok(Lowering::Prepared(Arc::new(DeviceKernel { prepared, place, outputs: declared, changed })));
        }
        let staging = Staging::new(inputs, outputs, |output| aliases[output])?;
        let total = given.iter().chain(&made).map(bytes).sum();
        Ok(Lowering::Opaque(Arc::new(CustomKernel::new(prepared, staging, declared, changed, total))))
    }

    fn saves(&self) -> Saves {
        if self.0.spec.gradient.is_some() { Saves { inputs: u32::MAX, outputs: u32::MAX } } else { Saves::NOTHING }
    }

    fn overwrites(&self, i: usize) -> bool {
        self.0.spec.changes.input(i)
    }

    fn has_effects(&self) -> bool {
        self.0.spec.effects
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        super::gradient::backward(&self.0, ctx)
    }
}
