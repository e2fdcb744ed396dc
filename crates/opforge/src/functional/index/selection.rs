//! What several index tensors select from a tensor together.

use crate::functional as f;
use smallvec::SmallVec;

use crate::family::ensure;
use crate::family::index::check_ids;
use crate::{DType, Error, Result, Shape, Tensor};

/// A selection by index tensors, prepared: a view of the tensor in which the indexed dimensions are neighbours, and vectors of indices.
pub(crate) struct Selection {
    /// The tensor; indexed dimensions that are not neighbours have been moved to the front.
    pub tensor: Tensor,
    /// The first indexed dimension.
    pub dim: usize,
    /// Indices into each indexed dimension, vectors of one length.
    pub ids: Vec<Tensor>,
    /// The dimensions that were moved to the front.
    moved: Option<SmallVec<[usize; 6]>>,
    /// The shape of what is selected: for the indexed dimensions it has those of the indices, broadcast together.
    pub shape: Shape,
}

impl Selection {
    /// `indices` names what to take from each dimension: integers of any shape; a mask (bool or u8), which stands for the dimensions of its
    /// shape and takes where it is true; or everything. Dimensions after the last index are taken whole. `None` if all are.
    #[track_caller]
    pub fn new(op: &'static str, input: &Tensor, indices: &[Option<Tensor>]) -> Result<Option<Self>> {
        let (tensor, indices) = without_masks(op, input, indices)?;
        if indices.len() > tensor.rank() {
            let accepted = format!("at most {}, for the shape {:?}", tensor.rank(), tensor.shape());
            return Err(Error::index(op, "indices", indices.len(), accepted));
        }
        let indexed: SmallVec<[usize; 6]> = (0..indices.len()).filter(|&d| indices[d].is_some()).collect();
        let (Some(&first), Some(&last)) = (indexed.first(), indexed.last()) else {
            return Ok(None);
        };
        let ids: Vec<Tensor> = indices.into_iter().flatten().collect();
        let mut common = Shape::from(());
        for ids in &ids {
            check_ids(op, ids.meta())?;
            common = common.broadcast(ids.shape(), op)?;
        }
        let apart = last - first + 1 > indexed.len();
        let (tensor, dim) = if apart { (to_front(&tensor, &indexed)?, 0) } else { (tensor, first) };
        let moved = apart.then_some(indexed);
        let (before, after) = (&tensor.dims()[..dim], &tensor.dims()[dim + ids.len()..]);
        let shape = before.iter().chain(common.dims()).chain(after).copied().collect();
        let ids = ids.iter().map(|ids| ids.broadcast_as(&common)?.flatten_all()).collect::<Result<_>>()?;
        Ok(Some(Selection { tensor, dim, ids, moved, shape }))
    }

    /// A changed copy of [`Selection::tensor`] with dimensions and shape as they were in `input`.
    #[track_caller]
    pub fn undo(&self, changed: &Tensor, input: &Tensor) -> Result<Tensor> {
        let Some(moved) = &self.moved else { return changed.reshape(input.shape()) };
        let rank = changed.rank();
        let rest = (0..rank).filter(|d| !moved.contains(d));
        let order: SmallVec<[usize; 6]> = moved.iter().copied().chain(rest).collect();
        let place = |d: usize| order.iter().position(|&o| o == d).unwrap_or(d);
        changed.permute((0..rank).map(place).collect::<Vec<_>>())?.reshape(input.shape())
    }

    /// Values for what is selected, broadcast to it, with one dimension for the indices.
    #[track_caller]
    pub fn values(&self, op: &'static str, values: &Tensor) -> Result<Tensor> {
        let accepted = || format!("values that broadcast to {:?}", self.shape);
        let mismatch = |_| Error::shapes(op, self.tensor.shape(), values.shape(), accepted());
        // Leading dimensions of length 1 do not matter.
        let extra = values.rank().saturating_sub(self.shape.rank());
        let values = match values.dims()[..extra].iter().all(|&n| n == 1) {
            true => values.reshape(&values.dims()[extra..])?,
            false => values.clone(),
        };
        let after = &self.tensor.dims()[self.dim + self.ids.len()..];
        let vector = [&self.tensor.dims()[..self.dim], &[self.ids[0].elem_count()], after].concat();
        values.broadcast_as(&self.shape).map_err(mismatch)?.reshape(vector)
    }
}

/// The dimensions moved to the front, in their order.
#[track_caller]
fn to_front(tensor: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let rest = (0..tensor.rank()).filter(|d| !dims.contains(d));
    tensor.permute(dims.iter().copied().chain(rest).collect::<Vec<_>>())
}

/// With the positions of their true elements in place of masks.
#[track_caller]
fn without_masks(
    op: &'static str,
    input: &Tensor,
    indices: &[Option<Tensor>],
) -> Result<(Tensor, Vec<Option<Tensor>>)> {
    let mut tensor = input.clone();
    let mut out = Vec::with_capacity(indices.len());
    for index in indices {
        let Some(mask) = index.as_ref().filter(|t| matches!(t.dtype(), DType::Bool | DType::U8)) else {
            out.push(index.clone());
            continue;
        };
        let dim = out.len();
        ensure(tensor.dims().get(dim..dim + mask.rank()) == Some(mask.dims()), || {
            Error::shapes(op, tensor.shape(), mask.shape(), format!("a mask of the tensor's lengths from dim {dim} on"))
        })?;
        let mut mask = mask.clone();
        match mask.rank() {
            0 => (tensor, mask) = (tensor.unsqueeze(dim)?, mask.reshape(1)?),
            1 => {}
            // A contiguous tensor's masked dimensions count as one.
            n if tensor.is_contiguous() => (tensor, mask) = (tensor.flatten(dim, dim + n - 1)?, mask.flatten_all()?),
            _ => {}
        }
        let places = f::nonzero(&mask)?;
        for d in 0..mask.rank() {
            out.push(Some(places.narrow(1, d, 1)?.squeeze(1)?));
        }
    }
    Ok((tensor, out))
}
