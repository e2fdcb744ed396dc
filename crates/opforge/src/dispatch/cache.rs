//! The inference cache: what a call with these inputs infers to, and the kernel prepared for it.

use std::cell::{OnceCell, RefCell};
use std::hash::Hasher;
use std::rc::Rc;
use std::sync::Arc;

use opforge_runtime::parallel::num_threads;
use opforge_runtime::{Device, Kernel, NoKernel, Transfer, vm};
use smallvec::SmallVec;

use rustc_hash::FxHasher;

use super::arranged::Arranging;
use super::{Call, fuser};
use crate::devices;
use crate::fusion::{Kind, Part};
use crate::operator::{Lowering, Operator, Place};
use crate::tensor::SharedMeta;
use crate::{Error, Meta, Result, Tensor};

/// A call prepared: everything but addresses.
pub(super) struct Plan {
    pub(super) outputs: SmallVec<[SharedMeta; 2]>,
    device: Device,
    /// Made when it is first needed, which is never for calls without data.
    carrier: OnceCell<Carrier>,
}

/// What carries a call out.
pub(super) struct Carrier {
    pub(super) kernel: Arc<dyn Kernel>,
    /// What it computes, where it may become part of a program.
    pub(super) part: Option<Arc<vm::Part>>,
    /// Where the kernel gains from an arranged input.
    pub(super) arranging: Option<Box<Arranging>>,
}

impl Carrier {
    /// That of a kernel alone.
    pub(super) fn plain(kernel: Arc<dyn Kernel>) -> Self {
        Carrier { kernel, part: None, arranging: None }
    }
}

/// Kernels that take less, in nanoseconds, are run as they are: what passes between them is in a cache anyway.
const WORTH_FUSING: u64 = 100_000;

impl Plan {
    /// A plan for outputs of these metas.
    pub(super) fn of_outputs(outputs: &[&Meta], device: Device) -> Self {
        let outputs = outputs.iter().map(|&meta| SharedMeta::from(meta.clone())).collect();
        Plan { outputs, device, carrier: OnceCell::new() }
    }

    /// What carries out a call that this is the plan of.
    #[inline]
    pub(super) fn carrier(&self, call: &Call<'_>) -> Result<&Carrier> {
        match self.carrier.get() {
            Some(carrier) => Ok(carrier),
            None => self.prepare(call, None),
        }
    }

    /// Makes ready to carry out a call: of parts that lie there in the whole, if a place is given.
    #[cold]
    pub(super) fn prepare(&self, call: &Call<'_>, place: Option<&Place>) -> Result<&Carrier> {
        let inputs: SmallVec<[&Meta; 4]> = call.inputs.iter().map(|t| t.meta()).collect();
        let outputs: SmallVec<[&Meta; 2]> = self.outputs.iter().map(|meta| &**meta).collect();
        let mut kind = None;
        let lower = || match place {
            Some(place) => call.op.lower_part(&inputs, &outputs, place),
            None => call.op.lower(&inputs, &outputs),
        };
        let mut kernel: Arc<dyn Kernel> = match lower()? {
            Lowering::Transfer => Arc::new(transfer(call, &outputs)?),
            lowering => {
                // A product that is called does not wait for what may follow.
                let joins =
                    |kind: &Kind| self.device == Device::Cpu && matches!(kind, Kind::Map | Kind::Rows | Kind::Total);
                kind = Kind::of(call.op, &lowering, &inputs, &outputs).filter(joins);
                devices::kernel(self.device, call.op.name(), lowering, lower, &inputs, &outputs)?
            }
        };
        let is_empty = |meta: &Meta| meta.elem_count() == 0;
        if outputs.iter().chain(&inputs).all(|meta| is_empty(meta)) && !call.op.has_effects() {
            kernel = Arc::new(NoKernel);
        }
        let part = kind.filter(|_| kernel.duration() >= WORTH_FUSING).map(|kind| {
            fuser::start();
            Arc::new(Part::new(call.op, kind, &inputs, &outputs)) as Arc<vm::Part>
        });
        let arranging = kernel.arranging().map(|prepack| Box::new(Arranging::new(prepack)));
        Ok(self.carrier.get_or_init(|| Carrier { kernel, part, arranging }))
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
    inputs: SmallVec<[SharedMeta; 2]>,
    /// Whether outputs are given. The plan's are then like these.
    given_outputs: bool,
    plan: Rc<Plan>,
}

/// Sets of entries a thread: a model's distinct calls fit, and a miss only costs the inference.
const SETS: usize = 256;
/// The entries of a set, the newest first: so many calls whose hashes agree do not drive each other out.
const WAYS: usize = 4;

/// Entries of kernels that share their work among so many threads.
struct Cache {
    threads: usize,
    entries: Vec<Option<Entry>>,
}

thread_local! {
    static CACHE: RefCell<Cache> = const { RefCell::new(Cache { threads: 0, entries: Vec::new() }) };
}

/// The plan for a call, from the cache or made now; whether it was found comes with it.
#[inline]
pub(super) fn plan(call: &Call<'_>, device: Device) -> Result<(Rc<Plan>, bool)> {
    let hash = hash(call);
    match find(hash, call, device) {
        Some(plan) => Ok((plan, true)),
        None => Ok((remember(hash, call, device)?, false)),
    }
}

/// A hash of what a plan depends on but the device: operator, inputs, and outputs where they are given.
#[inline]
fn hash(call: &Call<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(call.op.key_hash());
    let mut add = |tensors: &[&Tensor]| tensors.iter().for_each(|t| hasher.write_u64(t.shared_meta().hash()));
    add(call.inputs);
    add(call.outputs.unwrap_or_default());
    hasher.finish()
}

/// The index of the first entry of a set.
#[inline]
fn first_of_set(hash: u64) -> usize {
    (hash >> 32) as usize % SETS * WAYS
}

#[inline]
fn find(hash: u64, call: &Call<'_>, device: Device) -> Option<Rc<Plan>> {
    let first = first_of_set(hash);
    CACHE.with_borrow(|cache| {
        let mut set = cache.entries.get(first..first + WAYS)?.iter().flatten();
        if cache.threads != num_threads() {
            return None;
        }
        set.find(|entry| entry.hash == hash && entry.is_of(call, device)).map(|entry| entry.plan.clone())
    })
}

#[cold]
fn remember(hash: u64, call: &Call<'_>, device: Device) -> Result<Rc<Plan>> {
    let plan = Rc::new(make(call, device)?);
    let entry = Entry {
        hash,
        op: call.op.boxed(),
        inputs: metas(call.inputs),
        given_outputs: call.outputs.is_some(),
        plan: plan.clone(),
    };
    let first = first_of_set(hash);
    CACHE.with_borrow_mut(|cache| {
        let threads = num_threads();
        if cache.threads != threads {
            *cache = Cache { threads, entries: Vec::new() };
            cache.entries.resize_with(SETS * WAYS, || None);
        }
        cache.entries[first..first + WAYS].rotate_right(1);
        cache.entries[first] = Some(entry);
    });
    Ok(plan)
}

fn make(call: &Call<'_>, device: Device) -> Result<Plan> {
    let inputs: SmallVec<[&Meta; 4]> = call.inputs.iter().map(|t| t.meta()).collect();
    let inferred = call.op.infer(&inputs)?;
    if let Some(given) = call.outputs {
        super::inplace::check_metas(call.op.name(), &inferred, given)?;
    }
    let outputs = call.outputs.map_or_else(|| inferred.into_iter().map(SharedMeta::from).collect(), metas);
    for output in &outputs {
        output.shape().check(call.op.name(), output.dtype.size_in_bytes())?;
    }
    Ok(Plan { outputs, device, carrier: OnceCell::new() })
}

fn metas(tensors: &[&Tensor]) -> SmallVec<[SharedMeta; 2]> {
    tensors.iter().map(|t| t.shared_meta().clone()).collect()
}

impl Entry {
    /// Whether the entry's plan is that of the call.
    #[inline]
    fn is_of(&self, call: &Call<'_>, device: Device) -> bool {
        self.plan.device == device
            && self.given_outputs == call.outputs.is_some()
            && self.op.same(call.op)
            && are_like(&self.inputs, call.inputs)
            && call.outputs.is_none_or(|given| are_like(&self.plan.outputs, given))
    }
}

/// Whether tensors have these dtypes, shapes and strides.
#[inline]
pub(super) fn are_like(metas: &[SharedMeta], tensors: &[&Tensor]) -> bool {
    metas.len() == tensors.len() && metas.iter().zip(tensors).all(|(meta, t)| meta.is_like(t.shared_meta()))
}
