//! The inference cache: what a call with these inputs infers to, and the kernel prepared for it.

use std::cell::{OnceCell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use opforge_runtime::{Device, Kernel, NoKernel, Transfer, vm};
use smallvec::SmallVec;

use rustc_hash::FxHasher;

use super::{Call, fuser};
use crate::devices;
use crate::fusion::{Kind, Part};
use crate::operator::{Lowering, Metas, Operator};
use crate::{Error, Meta, Result};

/// A call prepared: everything but addresses.
pub(super) struct Plan {
    pub(super) outputs: Metas,
    device: Device,
    /// Made when it is first needed, which is never for calls without data.
    carrier: OnceCell<Carrier>,
}

/// What carries a call out.
pub(super) struct Carrier {
    pub(super) kernel: Arc<dyn Kernel>,
    /// What it computes, where it may become part of a program.
    pub(super) part: Option<Arc<vm::Part>>,
}

/// Kernels that take less, in nanoseconds, are run as they are: what passes between them is in a cache anyway.
const WORTH_FUSING: u64 = 100_000;

impl Plan {
    /// What carries out a call that this is the plan of.
    #[inline]
    pub(super) fn carrier(&self, call: &Call<'_>) -> Result<&Carrier> {
        match self.carrier.get() {
            Some(carrier) => Ok(carrier),
            None => self.prepare(call),
        }
    }

    #[cold]
    fn prepare(&self, call: &Call<'_>) -> Result<&Carrier> {
        let inputs: SmallVec<[&Meta; 4]> = call.inputs.iter().map(|t| t.meta()).collect();
        let outputs: SmallVec<[&Meta; 2]> = self.outputs.iter().collect();
        let mut kind = None;
        let mut kernel: Arc<dyn Kernel> = match call.op.lower(&inputs, &outputs)? {
            Lowering::Transfer => Arc::new(transfer(call, &outputs)?),
            lowering => {
                kind = Kind::of(call.op, &lowering, &inputs, &outputs).filter(|_| self.device == Device::Cpu);
                devices::of(self.device)?.kernel(call.op.name(), lowering, &inputs, &outputs)?
            }
        };
        let is_empty = |meta: &Meta| meta.elem_count() == 0;
        if self.outputs.iter().all(is_empty) && inputs.iter().all(|input| is_empty(input)) && !call.op.has_effects() {
            kernel = Arc::new(NoKernel);
        }
        let part = kind.filter(|_| kernel.duration() >= WORTH_FUSING).map(|kind| {
            fuser::start();
            Arc::new(Part::new(call.op, kind, &inputs, &outputs)) as Arc<vm::Part>
        });
        Ok(self.carrier.get_or_init(|| Carrier { kernel, part }))
    }
}

/// The copy of the input's bytes to the output, which is elsewhere.
fn transfer(call: &Call<'_>, outputs: &[&Meta]) -> Result<Transfer> {
    let contiguous =
        call.inputs.iter().map(|t| t.meta()).chain(outputs.iter().copied()).all(|m| m.layout.is_contiguous());
    if !contiguous {
        return Err(Error::value(
            call.op.name(),
            "input",
            "a strided tensor",
            "contiguous tensors, from device to device",
        ));
    }
    Ok(Transfer { nbytes: outputs[0].elem_count() * outputs[0].dtype.size_in_bytes() })
}

struct Entry {
    hash: u64,
    op: Box<dyn Operator>,
    metas: SmallVec<[Meta; 3]>,
    given_outputs: bool,
    plan: Rc<Plan>,
}

/// Sets of entries a thread: a model's distinct calls fit, and a miss only costs the inference.
const SETS: usize = 256;
/// The entries of a set, the newest first: so many calls whose hashes agree do not drive each other out.
const WAYS: usize = 4;

thread_local! {
    static CACHE: RefCell<Vec<Option<Entry>>> = const { RefCell::new(Vec::new()) };
}

/// The plan for a call, from the cache or made now; whether it was found comes with it.
pub(super) fn plan(call: &Call<'_>, device: Device) -> Result<(Rc<Plan>, bool)> {
    let hash = hash(call, device);
    let first = (hash >> 32) as usize % SETS * WAYS;
    let found = CACHE.with_borrow(|cache| {
        let mut set = cache.get(first..first + WAYS)?.iter().flatten();
        set.find(|entry| entry.hash == hash && entry.matches(call, device)).map(|entry| entry.plan.clone())
    });
    if let Some(plan) = found {
        return Ok((plan, true));
    }
    let plan = Rc::new(make(call, device)?);
    let entry = Entry {
        hash,
        op: call.op.boxed(),
        metas: metas(call).cloned().collect(),
        given_outputs: call.outputs.is_some(),
        plan: plan.clone(),
    };
    CACHE.with_borrow_mut(|cache| {
        if cache.is_empty() {
            cache.resize_with(SETS * WAYS, || None);
        }
        cache[first..first + WAYS].rotate_right(1);
        cache[first] = Some(entry);
    });
    Ok((plan, false))
}

fn make(call: &Call<'_>, device: Device) -> Result<Plan> {
    let inputs: SmallVec<[&Meta; 4]> = call.inputs.iter().map(|t| t.meta()).collect();
    let mut outputs = call.op.infer(&inputs)?;
    if let Some(given) = call.outputs {
        super::inplace::check_metas(call.op.name(), &outputs, given)?;
        outputs = given.iter().map(|t| t.meta().clone()).collect();
    }
    for output in &outputs {
        output.shape().check(call.op.name(), output.dtype.size_in_bytes())?;
    }
    Ok(Plan { outputs, device, carrier: OnceCell::new() })
}

/// The metas that the plan depends on: the inputs', and the outputs' where they are given.
fn metas<'a>(call: &'a Call<'_>) -> impl Iterator<Item = &'a Meta> {
    call.inputs.iter().chain(call.outputs.unwrap_or_default()).map(|t| t.meta())
}

fn hash(call: &Call<'_>, device: Device) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(call.op.key_hash());
    device.hash(&mut hasher);
    hasher.write_u8(call.outputs.is_some().into());
    for meta in metas(call) {
        hasher.write_u8(meta.dtype as u8);
        hasher.write_usize(meta.rank());
        meta.dims().iter().for_each(|&n| hasher.write_usize(n));
        meta.layout.stride().iter().for_each(|&n| hasher.write_usize(n));
    }
    hasher.finish()
}

impl Entry {
    fn matches(&self, call: &Call<'_>, device: Device) -> bool {
        self.plan.device == device
            && self.given_outputs == call.outputs.is_some()
            && self.op.same(call.op)
            && self.metas.len() == call.inputs.len() + call.outputs.map_or(0, <[_]>::len)
            && self.metas.iter().zip(metas(call)).all(|(a, b)| same(a, b))
    }
}

fn same(a: &Meta, b: &Meta) -> bool {
    // For so few numbers the comparison of slices, a call of `memcmp`, takes longer.
    let equal = |a: &[usize], b: &[usize]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b);
    a.dtype == b.dtype && equal(a.dims(), b.dims()) && equal(a.layout.stride(), b.layout.stride())
}
