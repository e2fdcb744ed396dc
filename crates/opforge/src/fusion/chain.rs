//! Calls joined one by one, as long as one kernel can carry them all out.

use std::fmt::{self, Display};
use std::sync::Arc;

use opforge_runtime::{HostKernel, Prepack};
use smallvec::SmallVec;

use super::axes::{Axes, Class, Dims};
use super::part::{Kind, Part};
use super::{blocks, followed};
use crate::{Meta, Result};

/// A tensor of a call as a place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// Which storage, by any number.
    pub storage: usize,
    /// Where the tensor begins there.
    pub byte_offset: usize,
}

/// Why a call cannot join those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// A tensor of it has no elements.
    Empty,
    /// It reads, or writes, another view of memory that an earlier call writes or reads.
    OtherView,
    /// There is no axis along which all calls are independent.
    NoCommonAxis,
    /// It combines all elements to one, and is not of what an earlier call makes, element by element; or it comes after such a call.
    Total,
    /// What has to be computed at once does not fit a cache.
    LargeBlock,
    /// It is a product of matrices, which only begins a kernel.
    Product,
    /// It comes after a product of matrices, and is no function of single elements of its result.
    AfterProduct,
}

impl Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::Empty => "a tensor of it has no elements",
            Obstacle::OtherView => "it reads or writes another view of memory that an earlier call writes or reads",
            Obstacle::NoCommonAxis => "there is no axis along which it and the earlier calls are independent",
            Obstacle::Total => {
                "it combines all elements, and not those that an earlier call makes, or comes after such a call"
            }
            Obstacle::LargeBlock => "what would have to be computed at once does not fit a cache",
            Obstacle::Product => "it is a product of matrices or a convolution, which only begins a kernel",
            Obstacle::AfterProduct => {
                "it comes after a product of matrices or a convolution, and is no function of single elements of its result"
            }
        })
    }
}

/// What one kernel carries out.
pub struct Fused {
    /// The kernel.
    pub kernel: Arc<dyn HostKernel>,
    /// What it reads, in the order of its inputs.
    pub inputs: Vec<Access>,
    /// What it writes, in the order of its outputs.
    pub outputs: Vec<Access>,
}

/// Calls in the order in which they were made.
#[derive(Default, Clone)]
pub struct Chain<'a> {
    pub(super) links: Vec<Link<'a>>,
    pub(super) axes: Axes,
    /// The axes that are loops around all calls, outermost first.
    pub(super) loops: SmallVec<[Class; 4]>,
    /// A reduction of all elements that the calls make: the last call.
    pub(super) total: Option<Link<'a>>,
    /// What has been read and written so far.
    seen: Vec<Seen>,
}

/// A call, with the axes of its tensors: the inputs', then the outputs'.
#[derive(Clone)]
pub(super) struct Link<'a> {
    pub part: &'a Part,
    pub accesses: SmallVec<[Access; 4]>,
    pub dims: Vec<Dims>,
}

impl Link<'_> {
    /// Where its first output is.
    pub fn result(&self) -> Access {
        self.accesses[self.part.inputs.len()]
    }
}

/// A tensor that a call has read or written.
#[derive(Clone)]
struct Seen {
    access: Access,
    written: bool,
    /// Bytes of an element: views as other dtypes have the same strides.
    size: usize,
    /// Stride, length and axis of each dimension that is longer than 1.
    dims: SmallVec<[(usize, usize, Class); 6]>,
}

impl<'a> Chain<'a> {
    /// Adds a call, with the places of its inputs and outputs.
    ///
    /// # Errors
    /// The obstacle, if it cannot be joined; the chain is as before.
    pub fn push(&mut self, part: &'a Part, inputs: &[Access], outputs: &[Access]) -> std::result::Result<(), Obstacle> {
        let accesses: SmallVec<[Access; 4]> = inputs.iter().chain(outputs).copied().collect();
        if part.metas().any(|meta| meta.elem_count() == 0) {
            return Err(Obstacle::Empty);
        }
        match (part.kind, &self.total) {
            (_, Some(_)) => return Err(Obstacle::Total),
            (Kind::Product { .. }, None) if !self.links.is_empty() => return Err(Obstacle::Product),
            (_, None) if self.begins_with_product() => self.check_follower(part, inputs, outputs)?,
            (Kind::Total, None) => return self.push_total(Link { part, accesses, dims: Vec::new() }),
            _ => {}
        }
        let mut longer = self.clone();
        let dims = longer.axes.add(part);
        for (i, ((access, meta), dims)) in accesses.iter().zip(part.metas()).zip(&dims).enumerate() {
            longer.see(*access, meta, dims, i >= inputs.len())?;
        }
        longer.links.push(Link { part, accesses, dims });
        longer.loops = longer.common_loops();
        if longer.begins_with_product() {
            *self = longer;
            return Ok(());
        }
        if longer.loops.is_empty() {
            longer.join_last_two();
            longer.loops = longer.common_loops();
        }
        if longer.loops.is_empty() {
            return Err(Obstacle::NoCommonAxis);
        }
        if blocks::least_bytes(&longer) > blocks::LARGEST {
            return Err(Obstacle::LargeBlock);
        }
        *self = longer;
        Ok(())
    }

    /// Ends the chain with a reduction of all that earlier calls make of single elements.
    fn push_total(&mut self, total: Link<'a>) -> std::result::Result<(), Obstacle> {
        let (input, meta) = (total.accesses[0], &total.part.inputs[0]);
        let (len, size) = (meta.elem_count(), meta.dtype.size_in_bytes());
        let is_made = self.seen.iter().any(|seen| seen.written && seen.access == input && seen.size == size);
        let is_flat = self.links.iter().all(|link| link.part.flattened(len).is_some());
        if !is_made || !is_flat || self.seen.iter().any(|seen| seen.access.storage == total.accesses[1].storage) {
            return Err(Obstacle::Total);
        }
        self.total = Some(total);
        Ok(())
    }

    /// Whether the first call is a product.
    pub(super) fn begins_with_product(&self) -> bool {
        self.links.first().is_some_and(|link| matches!(link.part.kind, Kind::Product { .. }))
    }

    /// Whether a call may follow a product: element by element of its result, and of nothing that the product reads.
    fn check_follower(&self, part: &Part, inputs: &[Access], outputs: &[Access]) -> std::result::Result<(), Obstacle> {
        let product = &self.links[0];
        let shape = &product.part.outputs[0];
        let Kind::Product { matrices, columns } = product.part.kind else { return Err(Obstacle::AfterProduct) };
        let rows = shape.elem_count() / (matrices * columns).max(1);
        let made = product.result();
        let continues = self.links.len() > 1 || inputs.contains(&made);
        let is_whole = part.outputs.iter().all(|output| output.elem_count() == shape.elem_count());
        if part.of_matrices([matrices, rows, columns]).is_none() || !continues || !is_whole {
            return Err(Obstacle::AfterProduct);
        }
        let changes = |output: &Access| product.accesses.iter().any(|access| access.storage == output.storage);
        let other_view = |input: &Access| input.storage == made.storage && *input != made;
        if outputs.iter().any(changes) || inputs.iter().any(other_view) { Err(Obstacle::OtherView) } else { Ok(()) }
    }

    /// The same calls of tensors of other shapes: of one dimension, for a chain that ends with a reduction of all elements; of matrices, for those that
    /// follow a product.
    pub(super) fn with_parts(links: &[Link<'_>], parts: &'a [Part]) -> std::result::Result<Chain<'a>, Obstacle> {
        let mut flat = Chain::default();
        for (link, part) in links.iter().zip(parts) {
            let (inputs, outputs) = link.accesses.split_at(part.inputs.len());
            flat.push(part, inputs, outputs)?;
        }
        Ok(flat)
    }

    /// Multiplications and additions of the product that the chain begins with, or none: those of other calls are little work.
    pub fn flops(&self) -> usize {
        let product = self.links.first().filter(|_| self.begins_with_product());
        product.map_or(0, |link| link.part.flops())
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.links.len() + usize::from(self.total.is_some())
    }

    /// Whether there is no call.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The kernel that carries all calls out. What they write to storages that are not `wanted` stays in working memory.
    ///
    /// # Errors
    /// Those of making kernels for blocks.
    pub fn fuse(&self, wanted: impl Fn(usize) -> bool) -> Result<Fused> {
        self.fuse_arranged(wanted, None)
    }

    /// As [`Chain::fuse`], where the operand of the product that the chain begins with lies arranged elsewhere.
    ///
    /// # Errors
    /// As [`Chain::fuse`].
    pub fn fuse_arranged(&self, wanted: impl Fn(usize) -> bool, arranged: Option<(&Prepack, Access)>) -> Result<Fused> {
        if self.begins_with_product() {
            return followed::fuse(self, &wanted, arranged);
        }
        blocks::fuse(self, &wanted)
    }

    /// How an operand of the product that the chain begins with may be arranged beforehand.
    ///
    /// # Errors
    /// Those of making the product's kernel.
    pub fn prepack(&self) -> Result<Option<Prepack>> {
        let product = self.links.first().filter(|_| self.begins_with_product());
        Ok(product.map(|link| link.part.kernel()).transpose()?.and_then(|kernel| kernel.prepack()))
    }

    /// Notes an access; one of memory that is written must have the same axes as those before it.
    fn see(&mut self, access: Access, meta: &Meta, dims: &Dims, written: bool) -> std::result::Result<(), Obstacle> {
        let layout = meta.layout.dims().iter().zip(meta.layout.stride()).zip(dims);
        let long = layout.filter(|((len, _), _)| **len > 1).map(|((&len, &stride), &class)| (stride, len, class));
        let dims: SmallVec<[(usize, usize, Class); 6]> = long.collect();
        let size = meta.dtype.size_in_bytes();
        for before in self.seen.iter().filter(|seen| seen.access.storage == access.storage) {
            match (before.written, written) {
                (false, false) => {}
                _ if (before.access.byte_offset, before.size) != (access.byte_offset, size) => {
                    return Err(Obstacle::OtherView);
                }
                // A call that reads may repeat what was written; who writes what was read may not.
                (true, false) => join(&mut self.axes, &before.dims, &dims, true)?,
                (_, true) => join(&mut self.axes, &before.dims, &dims, false)?,
            }
        }
        self.seen.push(Seen { access, written, size, dims });
        Ok(())
    }

    /// Makes the axes of the last two calls one, if their outputs have the same shape: where nothing passes between calls, any axes of equal length
    /// may be walked along together.
    fn join_last_two(&mut self) {
        let [.., a, b] = &self.links[..] else { return };
        let (first, second) = (&a.dims[a.part.inputs.len()], &b.dims[b.part.inputs.len()]);
        if a.part.outputs[0].shape() == b.part.outputs[0].shape() {
            first.iter().zip(second).for_each(|(&a, &b)| self.axes.join(a, b));
        }
    }

    /// The axes that all calls have in all outputs and are independent along, in the order of the last output's strides.
    fn common_loops(&self) -> SmallVec<[Class; 4]> {
        let Some(last) = self.links.last() else { return SmallVec::new() };
        let layout = &last.part.outputs[0].layout;
        let mut candidates: SmallVec<[(usize, Class); 6]> = last.dims[last.part.inputs.len()]
            .iter()
            .zip(layout.stride())
            .map(|(&class, &stride)| (stride, self.axes.root(class)))
            .filter(|(_, class)| self.axes.is_loop(*class))
            .collect();
        candidates.retain(|(_, class)| {
            let once = |dims: &Dims| dims.iter().filter(|own| self.axes.root(**own) == *class).count() == 1;
            self.links.iter().all(|link| link.dims[link.part.inputs.len()..].iter().all(once))
        });
        candidates.sort_by_key(|(stride, _)| std::cmp::Reverse(*stride));
        candidates.into_iter().map(|(_, class)| class).collect()
    }
}

/// Makes the axes of two views of the same memory one, dimension by dimension. `repeats` is whether the second view may have dimensions besides, of
/// stride 0.
fn join(
    axes: &mut Axes,
    first: &[(usize, usize, Class)],
    second: &[(usize, usize, Class)],
    repeats: bool,
) -> std::result::Result<(), Obstacle> {
    let mut left: SmallVec<[_; 6]> = first.into();
    for (stride, len, class) in second {
        if *stride == 0 && repeats {
            continue;
        }
        let Some(same) = left.iter().position(|(s, n, _)| (s, n) == (stride, len)) else {
            return Err(Obstacle::OtherView);
        };
        axes.join(left.remove(same).2, *class);
    }
    if left.is_empty() { Ok(()) } else { Err(Obstacle::OtherView) }
}
