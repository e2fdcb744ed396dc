//! `index_put(x, indices, values)`: values written, or added, where several index tensors name elements together.

use crate::autograd::is_grad_enabled;
use crate::functional::Selection;
use crate::operator::index::{check_tuples, tuple_axes};
use crate::operator::prelude::*;

/// The operator of [`index_put`]: `x`, then a vector of indices for each of the dimensions from `dim` on, then the values, which have one
/// dimension for these. Negative indices count from the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexPut {
    /// The first indexed dimension.
    pub dim: usize,
    /// The number of indexed dimensions.
    pub count: usize,
    /// Whether values are added; otherwise the last written to a place stays.
    pub accumulate: bool,
}

/// Backward reads the `count` inputs after the first.
pub(super) fn saves_indices(count: usize) -> Saves {
    Saves { inputs: ((1u64 << (count + 1)) - 2) as u32, outputs: 0 }
}

impl Operator for IndexPut {
    fn name(&self) -> &'static str {
        "index_put"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("index_put", inputs, 2 + self.count)?;
        let (x, values) = (inputs[0], inputs[1 + self.count]);
        let part = check_tuples("index_put", x, &inputs[1..=self.count], self.dim)?;
        if &part != values.shape() {
            return Err(Error::shapes("index_put", x.shape(), values.shape(), format!("values of the shape {part:?}")));
        }
        if values.dtype != x.dtype {
            return Err(Error::dtypes("index_put", x.dtype, values.dtype));
        }
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (x, part, indices, roles) = tuple_axes(inputs[0].rank(), self.dim, self.count, Role::Whole);
        let inputs = [vec![x.clone()], vec![indices; self.count], vec![part]].concat();
        AxisMap { inputs, outputs: vec![x], roles }
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        let (ids, values) = (&inputs[1..=self.count], inputs[1 + self.count]);
        opforge_cpu::index::put("index_put", inputs[0], ids, values, self.dim, self.accumulate, outputs[0])
    }

    fn overwrites(&self, i: usize) -> bool {
        i == 0
    }

    fn saves(&self) -> Saves {
        saves_indices(self.count)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let ids = (1..=self.count).map(|i| ctx.input(i)).collect::<Result<Vec<_>>>()?;
        let x = ctx.when(0, || match self.accumulate {
            true => Ok(grad.clone()),
            false => {
                let values = ctx.input_meta(1 + self.count);
                let zero = Tensor::zeros((), values.dtype, ctx.device())?;
                put(&grad, self.dim, &ids, &zero.broadcast_as(values.shape())?, false)
            }
        })?;
        let values = ctx.when(1 + self.count, || match self.accumulate {
            true => super::index_get::get(&grad, self.dim, &ids),
            false => self.grad_of_last(&grad, &ids),
        })?;
        let mut grads: Grads = SmallVec::from_elem(None, 2 + self.count);
        (grads[0], grads[1 + self.count]) = (x, values);
        Ok(grads)
    }
}

/// Values written, or added, at tuples of indices into the dimensions from `dim` on.
#[track_caller]
pub(super) fn put(x: &Tensor, dim: usize, ids: &[Tensor], values: &Tensor, accumulate: bool) -> Result<Tensor> {
    let inputs: SmallVec<[&Tensor; 5]> = [x].into_iter().chain(ids).chain([values]).collect();
    dispatch1(&IndexPut { dim, count: ids.len(), accumulate }, &inputs)
}
