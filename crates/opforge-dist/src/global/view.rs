//! Views of global tensors.
//!
//! A view is another layout of the same storage. Where its axes let ranks view their parts, it shows the memory of the whole; where they do not, as in a part of
//! a dimension that is split, ranks move elements, and the view is a copy, which is made again when elements have been written. What is written into such a view is
//! written into the whole.

use std::panic::Location;
use std::sync::Arc;

use opforge::dispatch::view as view_of;
use opforge::operator::{Call, Operator, Tensors};
use opforge::{Error, Layout, Meta, Result, Tensor};

use super::boxing::boxed;
use super::content::{Content, Origin, Part, Shown};
use super::read::{everywhere, part_of, unknown};
use super::signature::Kind;

/// Carries out a view.
pub(super) fn view(call: &Call<'_>, input: &Tensor, layout: Layout) -> Result<Tensors> {
    let outputs = view_of(call, input, layout)?;
    let content = Content::required(input)?;
    let meta = outputs[0].meta();
    if content.lock().origin(meta).is_none() {
        // Where elements of the storage are that the input does not show, the whole knows.
        let shown = match call.op.views_storage() {
            true => unknown(content, meta, call.at)?,
            false => show(input, call.op, meta, call.at)?,
        };
        content.lock().put(&content.world, meta.clone(), shown);
    }
    Ok(outputs)
}

/// What ranks have of a view of a tensor.
pub(super) fn show(input: &Tensor, op: &dyn Operator, meta: &Meta, at: &'static Location<'static>) -> Result<Shown> {
    let content = Content::required(input)?;
    let source = part_of(input, at)?;
    let (world, placement) = (&*content.world, source.distribution.placement());
    let from = [&source.distribution];
    let signature = Kind { world, op, inputs: &[input.meta()], from: &from, to: None, placement }.signature()?;
    let (is_in_place, to) = (signature.inputs[0] == source.distribution, &signature.outputs[0].distribution);
    let is_shared = is_in_place && matches!(content.lock().origin(input.meta()), Some(Origin::Shared));
    let local = boxed(&content.world, input.meta(), &source, &signature.inputs[0], at)?;
    let position = to.placement().position(content.world.rank());
    let viewed = |(local, position): (Tensor, usize)| {
        let shape = to.part(meta.shape(), position).shape();
        let layout = op
            .view_of_part(local.layout(), &shape)
            .unwrap_or_else(|| Err(Error::value(op.name(), "input", "a part", "an operator that is a view of it")))?;
        let view = Tensor::over_storage(local.storage().clone(), meta.dtype, layout)?;
        // What is viewed on in the whole is to be viewed on in the part: in memory of the whole by the same strides, in a copy as it is row-major.
        if is_shared { Ok(view) } else { view.contiguous() }
    };
    let local = local.zip(position).map(viewed).transpose()?;
    let origin = match is_shared {
        true => Origin::Shared,
        false => Origin::Copied { by: Some((input.meta().clone(), op.boxed().into())), writes: content.lock().writes },
    };
    Ok(Shown { part: Part { distribution: to.clone(), local }, origin })
}

/// Writes new elements, distributed as `part` says, into a tensor.
pub(super) fn write(tensor: &Tensor, part: &Part, at: &'static Location<'static>) -> Result<()> {
    let content = Content::required(tensor)?;
    let old = part_of(tensor, at)?;
    let is_shared = matches!(content.lock().origin(tensor.meta()), Some(Origin::Shared));
    if is_shared {
        let new = boxed(&content.world, tensor.meta(), part, &old.distribution, at)?;
        if let Some((old, new)) = old.local.as_ref().zip(new.as_ref()) {
            old.copy_from(new)?;
        }
    } else {
        write_whole(content, tensor.meta(), part, at)?;
    }
    content.lock().writes += 1;
    Ok(())
}

/// Writes a view that is a copy: all ranks get the whole, write the view into theirs, and keep what is their part.
fn write_whole(content: &Content, meta: &Meta, part: &Part, at: &'static Location<'static>) -> Result<()> {
    let whole = content.part();
    let to = everywhere(whole.distribution.placement())?;
    let new = boxed(&content.world, meta, part, &to, at)?;
    let all = boxed(&content.world, &content.whole, &whole, &to, at)?;
    let changed = |(all, new): (Tensor, Tensor)| {
        let all = all.copy()?;
        Tensor::over_storage(all.storage().clone(), meta.dtype, meta.layout.clone())?.copy_from(&new)?;
        Ok::<_, Error>(all)
    };
    let local = all.zip(new).map(changed).transpose()?;
    let changed = Part { distribution: Arc::new(to), local };
    let kept = boxed(&content.world, &content.whole, &changed, &whole.distribution, at)?;
    match whole.local.zip(kept) {
        Some((old, kept)) => old.copy_from(&kept),
        None => Ok(()),
    }
}
