//! The elements of global tensors, on every rank.

use std::panic::Location;
use std::sync::Arc;

use opforge::{Error, Layout, Meta, Result, Tensor};

use super::World;
use super::boxing::{boxed, buffer};
use super::content::{Content, Origin, Part, Shown};
use super::view::show;
use crate::{Distribution, Placement, Sbp};

/// How a tensor lies and this rank's part of it. Views that are copies are made anew after writes.
///
/// # Errors
/// A tensor that is not global; those of boxing.
pub(super) fn part_of(tensor: &Tensor, at: &'static Location<'static>) -> Result<Part> {
    let content = Content::required(tensor)?;
    let meta = tensor.meta();
    let (shown, origin) = {
        let state = content.lock();
        (state.get(meta), state.origin(meta).cloned())
    };
    if let Some(shown) = shown {
        return Ok(shown.part);
    }
    let shown = match origin {
        Some(Origin::Copied { by: Some((of, op)), .. }) => {
            let parent = Tensor::over_storage(tensor.storage().clone(), of.dtype, of.layout)?;
            show(&parent, &*op, meta, at)?
        }
        _ => unknown(content, meta, at)?,
    };
    let part = shown.part.clone();
    content.lock().put(&content.world, meta.clone(), shown);
    Ok(part)
}

/// A tensor over the storage that no view has made, as backward makes of what it has saved: a layout of the whole, which every rank of the placement gets.
pub(super) fn unknown(content: &Content, meta: &Meta, at: &'static Location<'static>) -> Result<Shown> {
    let (part, writes) = (content.part(), content.lock().writes);
    let to = everywhere(part.distribution.placement())?;
    let whole = boxed(&content.world, &content.whole, &part, &to, at)?;
    let reinterpreted = |whole: Tensor| {
        let dense = whole.contiguous()?;
        let first = dense.layout().start_offset() * dense.dtype().size_in_bytes() / meta.dtype.size_in_bytes();
        let layout = &meta.layout;
        let strides = layout.stride().iter().copied().collect();
        let moved = Layout::new(layout.shape().clone(), strides, layout.start_offset() + first, "global")?;
        Tensor::over_storage(dense.storage().clone(), meta.dtype, moved)
    };
    let local = whole.map(reinterpreted).transpose()?;
    let origin = Origin::Copied { by: None, writes };
    Ok(Shown { part: Part { distribution: Arc::new(to), local }, origin })
}

/// Broadcast over a placement.
pub(super) fn everywhere(placement: &Placement) -> Result<Distribution> {
    Distribution::new(placement.clone(), &vec![Sbp::Broadcast; placement.mesh().len()])
}

/// The elements of a part, brought to this rank. All ranks of the placement call it, unless they have them already.
///
/// # Errors
/// On a rank that is not in the placement.
pub(super) fn to_all(world: &World, meta: &Meta, part: &Part, at: &'static Location<'static>) -> Result<Tensor> {
    let placement = part.distribution.placement();
    boxed(world, meta, part, &everywhere(placement)?, at)?.ok_or_else(|| {
        let given = format!("a tensor on {placement}, read by rank {}", world.rank());
        Error::device(
            "global",
            "read",
            given,
            "a rank of the placement, or the tensor redistributed to this rank before",
        )
    })
}

/// The bytes of a storage.
pub(super) fn bytes(content: &Content, to: &mut [u8]) -> Result<()> {
    let local = to_all(&content.world, &content.whole, &content.part(), Location::caller())?;
    to.copy_from_slice(buffer(&local)?.bytes()?);
    Ok(())
}
