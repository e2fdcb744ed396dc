//! Between local and global tensors, and between distributions.

use std::panic::Location;
use std::sync::Arc;

use opforge::dispatch::dispatch1;
use opforge::operator::Call;
use opforge::{DType, Device, Error, Result, Shape, Tensor};
use opforge_runtime::Storage;

use super::boxing::{boxed, buffer};
use super::content::{Content, Part};
use super::operators::{self, Enter};
use super::read::{everywhere, part_of as read_part, to_all};
use super::{World, boxing};
use crate::{Call as Collect, Collective, Distribution, Placement, Sbp};

/// Whether ranks have parts of a tensor.
pub fn is_global(tensor: &Tensor) -> bool {
    Content::of(tensor).is_some()
}

/// The row-major tensor to which a storage belongs, if that is global: others over it are its views.
pub fn whole_over(storage: &Arc<Storage>) -> Option<Result<Tensor>> {
    let whole = &storage.content()?.downcast_ref::<Content>()?.whole;
    Some(Tensor::over_storage(storage.clone(), whole.dtype, whole.layout.clone()))
}

/// How a global tensor is distributed; `None` for a local one.
pub fn distribution_of(tensor: &Tensor) -> Result<Option<Arc<Distribution>>> {
    if !is_global(tensor) {
        return Ok(None);
    }
    read_part(tensor, Location::caller()).map(|part| Some(part.distribution))
}

pub(super) fn distribution(tensor: &Tensor) -> Result<Arc<Distribution>> {
    read_part(tensor, Location::caller()).map(|part| part.distribution)
}

/// This rank's part of a global tensor as a local tensor, in the same memory where the tensor is no copy itself; without elements on ranks that have none.
/// Its gradient is that of the part.
///
/// # Errors
/// A local tensor.
#[track_caller]
pub fn part_of(tensor: &Tensor) -> Result<Tensor> {
    let distribution = distribution(tensor)?;
    let rank = World::current()?.rank();
    let position = distribution.placement().position(rank);
    let shape = position.map_or_else(|| Shape::from(0), |position| distribution.part(tensor.shape(), position).shape());
    operators::leave(tensor, &shape)
}

/// The tensor in a distribution: itself if that is its own. Its gradient comes back to where the tensor was.
///
/// # Errors
/// A local tensor; dimensions that the tensor does not have.
#[track_caller]
pub fn redistribute(tensor: &Tensor, to: &Distribution) -> Result<Tensor> {
    operators::redistribute(tensor, to)
}

/// A global tensor of a local one that every rank has, as the first rank of the placement has it.
///
/// # Errors
/// Dimensions that the tensor does not have; shapes that differ between ranks.
#[track_caller]
pub fn distribute(tensor: &Tensor, to: &Distribution) -> Result<Tensor> {
    to.check(tensor.shape())?;
    let whole = everywhere(to.placement())?;
    let enter = Enter { to: whole, shape: tensor.shape().clone(), agree: true };
    redistribute(&dispatch1(&enter, &[&tensor.contiguous()?])?, to)
}

/// A global tensor whose parts ranks have: along split dimensions they are joined, whatever their lengths; what is broadcast is taken from the first of the
/// ranks that have it; partial parts are its summands. All ranks of the world call it; what those bring that are not in the placement only has to have
/// the same dtype and number of dimensions.
///
/// # Errors
/// Parts that do not go together, on every rank.
#[track_caller]
pub fn from_part(tensor: &Tensor, distribution: &Distribution) -> Result<Tensor> {
    let world = World::current()?;
    let dims = all_dims(&world, tensor, Location::caller())?;
    let joined = joined(distribution, &dims)?;
    let local = tensor.contiguous()?;
    let is_balanced =
        |(position, rank): (usize, &usize)| distribution.part(&joined, position).shape().dims() == &dims[*rank][..];
    if distribution.placement().ranks().iter().enumerate().all(is_balanced) {
        return dispatch1(&Enter { to: distribution.clone(), shape: joined, agree: true }, &[&local]);
    }
    uneven(&world, &local, distribution, &dims, &joined)
}

/// The dimensions of every rank's tensor.
fn all_dims(world: &World, tensor: &Tensor, at: &'static Location<'static>) -> Result<Vec<Vec<usize>>> {
    let own: Vec<i64> = tensor.dims().iter().map(|&length| length as i64).collect();
    let (rank, send) = (own.len(), crate::Buffer::of(&own)?);
    let recv = crate::Buffer::zeros(world.size() * rank * size_of::<i64>())?;
    let collective = Collective::AllGather { counts: vec![rank; world.size()] };
    let call = Collect { collective, dtype: DType::I64, shape: rank.into(), send, recv, place: world.place(at) };
    let all = world.call(world.groups().world(), call)?.to_vec::<i64>()?;
    Ok((0..world.size()).map(|i| all[i * rank..(i + 1) * rank].iter().map(|&n| n as usize).collect()).collect())
}

/// The shape of the whole that parts of these dimensions make.
fn joined(distribution: &Distribution, dims: &[Vec<usize>]) -> Result<Shape> {
    let placement = distribution.placement();
    let first = &dims[placement.ranks()[0]];
    let check = |sbp: &Sbp| match sbp {
        Sbp::Split(axis) if *axis >= first.len() => {
            Err(Error::index("to_global", "split", sbp, format!("a dimension of {first:?}")))
        }
        _ => Ok(()),
    };
    distribution.sbp().iter().try_for_each(check)?;
    let mut shape = first.clone();
    for axis in 0..first.len() {
        let splits: Vec<usize> =
            (0..placement.mesh().len()).filter(|&dim| distribution.sbp()[dim] == Sbp::Split(axis)).collect();
        // The ranks whose parts lie one after the other: those that differ along these dimensions of the mesh only.
        let is_at_zero = |position: &usize| {
            (0..placement.mesh().len()).all(|dim| splits.contains(&dim) || placement.coordinate(*position, dim) == 0)
        };
        shape[axis] = (0..placement.ranks().len())
            .filter(is_at_zero)
            .map(|position| dims[placement.ranks()[position]][axis])
            .sum();
    }
    Ok(Shape::from_dims(&shape))
}

/// Parts of other lengths than balanced ones, split along one dimension of a row of ranks: each rank sends the others what is theirs.
fn uneven(world: &World, local: &Tensor, to: &Distribution, dims: &[Vec<usize>], shape: &Shape) -> Result<Tensor> {
    let wrong = || {
        let parts: Vec<_> = to.placement().ranks().iter().map(|&rank| dims[rank].clone()).collect();
        Error::shape(
            "to_global",
            "parts",
            format!("{parts:?} for {to}"),
            "balanced parts, or parts along one dimension of a row",
        )
    };
    let [Sbp::Split(axis)] = *to.sbp() else { return Err(wrong()) };
    let ranks = to.placement().ranks();
    let fits = |rank: &usize| (0..shape.rank()).all(|d| d == axis || dims[*rank][d] == shape.dims()[d]);
    if !ranks.iter().all(fits) {
        return Err(wrong());
    }
    // Every rank writes its part into zeros; the sum is the whole.
    let start: usize = ranks.iter().take_while(|&&rank| rank != world.rank()).map(|&rank| dims[rank][axis]).sum();
    let rest = |length: usize| {
        let dims: Vec<usize> = (0..shape.rank()).map(|d| if d == axis { length } else { shape.dims()[d] }).collect();
        Tensor::zeros(Shape::from_dims(&dims), local.dtype(), &Device::Cpu)
    };
    let part = match ranks.contains(&world.rank()) {
        true => {
            let after = shape.dims()[axis] - start - local.dims()[axis];
            Tensor::cat(&[&rest(start)?, local, &rest(after)?], axis)?
        }
        false => local.clone(),
    };
    let sum = Distribution::new(to.placement().clone(), &[Sbp::Partial(crate::Reduction::Sum)])?;
    let summed = dispatch1(&Enter { to: sum, shape: shape.clone(), agree: false }, &[&part])?;
    redistribute(&summed, to)
}

/// A global tensor of which this rank, that is none of the placement's, knows no more than shape and distribution.
pub(crate) fn unfilled(world: &Arc<World>, meta: &opforge::Meta, to: &Distribution) -> Result<Tensor> {
    Content::tensor_like(world, meta, Part { distribution: Arc::new(to.clone()), local: None })
}

/// Carries out [`Enter`].
pub(super) fn enter(call: &Call<'_>, enter: &Enter) -> Result<Tensor> {
    let (world, input) = (World::current()?, call.inputs[0]);
    let meta = opforge::Meta::contiguous(input.dtype(), &enter.shape);
    let distribution = Arc::new(enter.to.clone());
    let position = enter.to.placement().position(world.rank());
    let Some(position) = position else {
        return Content::tensor_like(&world, &meta, Part { distribution, local: None });
    };
    let part = enter.to.part(&enter.shape, position);
    if part.shape() != *input.shape() {
        return Err(Error::shape(
            "to_global",
            "part",
            format!("{:?}", input.dims()),
            format!("{:?}", part.shape().dims()),
        ));
    }
    let mut local = input.detach().copy()?;
    if enter.agree {
        for dim in (0..enter.to.sbp().len()).filter(|&dim| enter.to.sbp()[dim] == Sbp::Broadcast) {
            local = as_first(&world, &local, &enter.to, position, dim, call.at)?;
        }
    }
    Content::tensor_like(&world, &meta, Part { distribution, local: Some(local) })
}

/// What the first rank along a dimension of the mesh has.
fn as_first(
    world: &World,
    local: &Tensor,
    to: &Distribution,
    position: usize,
    dim: usize,
    at: &'static Location<'static>,
) -> Result<Tensor> {
    let ranks: Vec<usize> = to.placement().along(position, dim).map(|p| to.placement().ranks()[p]).collect();
    if ranks.len() == 1 {
        return Ok(local.clone());
    }
    let (dtype, shape) = (local.dtype(), local.shape().clone());
    let (collective, recv, place) = (Collective::Broadcast { root: 0 }, buffer(local)?, world.place(at));
    let call = Collect { collective, dtype, shape: shape.clone(), send: crate::Buffer::empty(), recv, place };
    boxing::tensor(world.call(&world.groups().of(&ranks)?, call)?, dtype, shape)
}

/// Carries out [`operators::Leave`].
pub(super) fn leave(call: &Call<'_>, leave: &operators::Leave) -> Result<Tensor> {
    let input = call.inputs[0];
    let (content, part) = (Content::required(input)?, read_part(input, call.at)?);
    let local = boxed(&content.world, input.meta(), &part, &leave.from, call.at)?;
    match local {
        Some(local) => Tensor::over_storage(local.storage().clone(), local.dtype(), local.layout().clone()),
        None => Tensor::zeros(&leave.shape, input.dtype(), &Device::Cpu),
    }
}

/// Carries out a change of distribution, into memory of its own.
pub(super) fn box_to(call: &Call<'_>, to: &Distribution) -> Result<Tensor> {
    let input = call.inputs[0];
    let (content, part) = (Content::required(input)?, read_part(input, call.at)?);
    let local = boxed(&content.world, input.meta(), &part, to, call.at)?;
    let own = |local: Tensor| match &part.local {
        Some(old) if old.shares_storage(&local) => local.copy(),
        _ => local.contiguous(),
    };
    let part = Part { distribution: Arc::new(to.clone()), local: local.map(own).transpose()? };
    Content::tensor_like(&content.world, input.meta(), part)
}

/// A local tensor on all ranks of a placement, as the first of them has it.
pub(super) fn broadcast(call: &Call<'_>, placement: &Placement) -> Result<Tensor> {
    let input = call.inputs[0];
    let to = Enter { to: everywhere(placement)?, shape: input.shape().clone(), agree: true };
    enter(call, &to)
}

/// All elements of a global tensor, on another device of every rank.
pub(super) fn whole(call: &Call<'_>, to: Device) -> Result<Tensor> {
    let input = call.inputs[0];
    let (content, part) = (Content::required(input)?, read_part(input, call.at)?);
    to_all(&content.world, input.meta(), &part, call.at)?.copy()?.to_device(&to)
}
