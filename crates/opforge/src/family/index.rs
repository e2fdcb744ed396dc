//! What operators with a tensor of indices share.

use smallvec::{SmallVec, smallvec};

use super::{check_dim, check_dtypes, ensure};
use crate::autograd::is_grad_enabled;
use crate::dispatch::{dispatch_into, dispatch1};
use crate::operator::{Axis, AxisMap, Operator, Role};
use crate::{Error, Meta, Result, Shape, Tensor};

/// Refuses index tensors that are not integers.
pub(crate) fn check_ids(op: &'static str, ids: &Meta) -> Result<()> {
    ensure(ids.dtype.is_int(), || Error::dtype(op, "index", ids.dtype, "an integer dtype"))
}

/// Refuses index tensors that do not fit a tensor along a dimension: of another rank, or longer in another dimension.
pub(crate) fn check_along(op: &'static str, x: &Meta, ids: &Meta, dim: usize) -> Result<()> {
    check_ids(op, ids)?;
    check_dim(op, x, dim)?;
    let longer = |(d, (i, n)): (usize, (&usize, &usize))| d != dim && i > n;
    ensure(ids.rank() == x.rank() && !ids.dims().iter().zip(x.dims()).enumerate().any(longer), || {
        Error::shapes(op, x.shape(), ids.shape(), format!("an index of equal rank, not longer but along dim {dim}"))
    })?;
    Ok(())
}

/// Fails unless `[x, ids, src]` can be scattered along `dim`: the source may be longer than the index.
pub(crate) fn check_scatter(op: &'static str, inputs: &[&Meta], dim: usize) -> Result<()> {
    let [x, ids, src] = [inputs[0], inputs[1], inputs[2]];
    check_along(op, x, ids, dim)?;
    if src.rank() != ids.rank() || ids.dims().iter().zip(src.dims()).any(|(i, s)| i > s) {
        return Err(Error::shapes(op, ids.shape(), src.shape(), "a source at least of the index's shape"));
    }
    check_dtypes(op, x, src)
}

/// The axis map of an operator that indexes along a dimension; dimensions in which the tensors differ in length take no part.
pub(crate) fn along_axes(inputs: &[&Meta], dim: usize) -> AxisMap {
    let rank = inputs[0].rank();
    let equal = |d: usize| inputs.iter().all(|m| m.dims()[d] == inputs[0].dims()[d]);
    let shared: SmallVec<[Option<Axis>; 6]> = (0..rank).map(|d| (d != dim && equal(d)).then_some(d as Axis)).collect();
    let outputs = vec![shared.clone()];
    AxisMap { inputs: vec![shared; inputs.len()], outputs, roles: SmallVec::from_elem(Role::Map, rank) }
}

/// As [`along_axes`], of an operator that writes along the dimension of its first input: into what a part has of it.
pub(crate) fn written_axes(inputs: &[&Meta], dim: usize) -> AxisMap {
    let mut map = along_axes(inputs, dim);
    map.inputs[0][dim] = Some(dim as Axis);
    map.outputs[0][dim] = Some(dim as Axis);
    map.with_roles(&[dim], Role::Placed)
}

/// What `op` makes of a tensor that nobody else has, indices and sources: in place, unless it is to be differentiated.
#[track_caller]
pub(crate) fn onto(op: &dyn Operator, fresh: Tensor, ids: &Tensor, src: &Tensor) -> Result<Tensor> {
    if is_grad_enabled() {
        return dispatch1(op, &[&fresh, ids, src]);
    }
    dispatch_into(op, &[&fresh, ids, src], &[&fresh])?;
    Ok(fresh)
}

/// A gradient with zeros appended, up to the shape of the source, of which the index may have used only the beginning.
#[track_caller]
pub(crate) fn widen(grad: &Tensor, source: &Meta) -> Result<Tensor> {
    let mut out = grad.clone();
    for (d, &n) in source.dims().iter().enumerate() {
        if out.dims()[d] < n {
            out = out.pad_with_zeros(d, 0, n - out.dims()[d])?;
        }
    }
    Ok(out)
}

/// Refuses what does not fit together: a tensor, and vectors of indices, of one length, into its dimensions from `dim` on. The shape with one
/// dimension for the indices.
pub(crate) fn check_tuples(op: &'static str, x: &Meta, ids: &[&Meta], dim: usize) -> Result<Shape> {
    ids.iter().try_for_each(|ids| check_ids(op, ids))?;
    let Some(first) = ids.first().filter(|first| ids.iter().all(|m| m.rank() == 1 && m.dims() == first.dims())) else {
        return Err(Error::shape(op, "indices", format!("{} tensors", ids.len()), "vectors of one length"));
    };
    if dim.saturating_add(ids.len()) > x.rank() {
        let given = format!("{} from dim {dim} on", ids.len());
        return Err(Error::index(op, "indices", given, format!("dimensions of {:?}", x.shape())));
    }
    let (before, after) = (&x.dims()[..dim], &x.dims()[dim + ids.len()..]);
    Ok(before.iter().chain(first.dims()).chain(after).copied().collect())
}

type Names = SmallVec<[Option<Axis>; 6]>;

/// The axes of a tensor that tuples of indices point into, of what they select, of the indices, and their roles.
pub(crate) fn tuple_axes(
    rank: usize,
    dim: usize,
    count: usize,
    tuples: Role,
) -> (Names, Names, Names, SmallVec<[Role; 6]>) {
    let name = |d: usize| Some(d as Axis);
    let end = dim + count;
    let x = (0..rank).map(|d| if (dim..end).contains(&d) { None } else { name(d) }).collect();
    let part = (0..dim).map(name).chain([name(rank)]).chain((end..rank).map(name)).collect();
    let mut roles: SmallVec<[Role; 6]> = SmallVec::from_elem(Role::Map, rank + 1);
    roles[rank] = tuples;
    (x, part, smallvec![name(rank)], roles)
}
