//! Boxing of tensors.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use opforge::{DType, Layout, Meta, Result, Shape, Tensor};
use opforge_runtime::{Storage, vm};

use super::content::Part;
use super::{World, queued};
use crate::boxing::identities;
use crate::{Buffer, Change, Distribution, Plan, Reduction};

/// What a route depends on, costs by their digest.
#[derive(PartialEq, Eq, Hash)]
struct Key(u64, DType, Shape, Distribution, Distribution);

/// Routes that are kept; beyond so many the search begins anew.
const KEPT: usize = 16_384;

/// A search takes much longer than a lock, and ranks that are threads search for the same routes.
static PLANS: LazyLock<Mutex<HashMap<Key, Arc<Plan>>>> = LazyLock::new(Mutex::default);

/// The cheapest route, searched once.
pub(super) fn plan(world: &World, meta: &Meta, from: &Distribution, to: &Distribution) -> Result<Arc<Plan>> {
    let key = Key(world.digest(), meta.dtype, meta.shape().clone(), from.clone(), to.clone());
    let plans = || PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(plan) = plans().get(&key) {
        return Ok(plan.clone());
    }
    let plan = Arc::new(Plan::new(meta.dtype, meta.shape().clone(), from.clone(), to.clone(), world.costs())?);
    let mut plans = plans();
    if plans.len() >= KEPT {
        plans.clear();
    }
    plans.insert(key, plan.clone());
    Ok(plan)
}

/// This rank's part under another distribution of a whole like `meta`: the part itself where that is the same, or a view of it.
pub(super) fn boxed(
    world: &World,
    meta: &Meta,
    part: &Part,
    to: &Distribution,
    at: &'static Location<'static>,
) -> Result<Option<Tensor>> {
    if std::ptr::eq(&*part.distribution, to) || *part.distribution == *to {
        return Ok(part.local.clone());
    }
    let plan = plan(world, meta, &part.distribution, to)?;
    if let Some(ledger) = world.ledger() {
        ledger.boxed(&plan);
        return Ok(None);
    }
    if plan.steps().iter().all(|step| matches!(step.change, Change::Slice { .. })) {
        return part.local.as_ref().map(|local| slice(world, meta, local, &part.distribution, to)).transpose();
    }
    if let Some(stream) = world.stream() {
        return queued::execute(world, stream, &plan, part.local.as_ref(), at);
    }
    let buffer = part.local.as_ref().map(buffer).transpose()?;
    let moved = plan.execute(world.groups(), buffer, &world.place(at))?;
    let Some((moved, position)) = moved.zip(to.placement().position(world.rank())) else { return Ok(None) };
    tensor(moved, meta.dtype, to.part(meta.shape(), position).shape()).map(Some)
}

/// What a rank keeps of what it has.
fn slice(world: &World, meta: &Meta, local: &Tensor, from: &Distribution, to: &Distribution) -> Result<Tensor> {
    let Some(position) = to.placement().position(world.rank()) else { return Ok(local.clone()) };
    let (old, new) = (from.part(meta.shape(), position), to.part(meta.shape(), position));
    let pairs = old.ranges().iter().zip(new.ranges()).enumerate();
    let kept = pairs
        .filter(|(_, (old, new))| old != new)
        .try_fold(local.clone(), |local, (dim, (old, new))| local.narrow(dim, new.start - old.start, new.len()))?;
    // What the operator checked of the whole, that it is row-major, is to hold of the part.
    kept.contiguous()
}

/// The elements in row-major order.
pub(super) fn buffer(tensor: &Tensor) -> Result<Buffer> {
    let (dense, size) = (tensor.contiguous()?, tensor.dtype().size_in_bytes());
    let start = dense.layout().start_offset() * size;
    Buffer::from_bytes(&vm::read(dense.storage())?[start..start + dense.elem_count() * size])
}

/// Elements in row-major order as a tensor.
pub(super) fn tensor(buffer: Buffer, dtype: DType, shape: Shape) -> Result<Tensor> {
    Tensor::over_storage(into_storage(buffer)?, dtype, Layout::contiguous(shape))
}

fn into_storage(buffer: Buffer) -> Result<Arc<Storage>> {
    match buffer.into_room() {
        Ok(room) => Ok(Storage::from_room(room)),
        Err(lent) => Storage::from_bytes(lent.bytes()?),
    }
}

/// A part of elements that change nothing in a reduction.
pub(super) fn nothing(dtype: DType, op: Reduction, shape: Shape) -> Result<Tensor> {
    tensor(identities(dtype, op, shape.elem_count())?, dtype, shape)
}
