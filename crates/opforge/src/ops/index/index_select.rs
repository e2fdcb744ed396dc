//! `index_select(x, dim, ids)`: elements along a dimension, by index.

use opforge_tile::forms::{Index, Indices, Special};

use crate::arguments::with_dimension;
use crate::family::index::{check_ids, onto};
use crate::ops::prelude::*;

/// The operator of [`index_select`] and of embeddings: the dimension is replaced by those of the index tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct IndexSelect {
    /// The dimension that is indexed.
    pub dim: usize,
    /// Which indices mean something special.
    pub special: Special,
}

impl Plain for IndexSelect {
    const NAME: &'static str = "index_select";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves::inputs([1]);

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (x, ids) = (inputs[0], inputs[1]);
        check_ids(Self::NAME, ids)?;
        check_dim(Self::NAME, x, self.dim)?;
        let (before, after) = (&x.dims()[..self.dim], &x.dims()[self.dim + 1..]);
        let shape: Shape = before.iter().chain(ids.dims()).chain(after).copied().collect();
        Ok(smallvec![Meta::contiguous(x.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (x, ids) = (inputs[0].rank(), inputs[1].rank());
        let names = |range: std::ops::Range<usize>| range.map(|a| Some(a as Axis));
        // The names of the input's dimensions come first, then those of the indices.
        AxisMap {
            inputs: vec![names(0..x).collect(), names(x..x + ids).collect()],
            outputs: vec![names(0..self.dim).chain(names(x..x + ids)).chain(names(self.dim + 1..x)).collect()],
            roles: SmallVec::from_elem(Role::Map, x + ids),
        }
        .with_roles(&[self.dim], Role::Lookup)
    }

    fn form(&self, place: &Place) -> Lowering {
        let indices = Indices { special: self.special, part: place.of_input(0, self.dim) };
        Lowering::Index(Index::Select { axis: self.dim, indices })
    }

    /// The gradient's slices are added at their indices.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let x = ctx.when(0, || {
            let (meta, grad, ids) = (ctx.input_meta(0), ctx.grad(0)?, ctx.input(1)?);
            let (before, after) = (&meta.dims()[..self.dim], &meta.dims()[self.dim + 1..]);
            let flat: Shape = before.iter().chain([&ids.elem_count()]).chain(after).copied().collect();
            let op = super::index_add::IndexAdd { dim: self.dim, special: self.special };
            onto(&op, ctx.zeros(0)?, &ids.flatten_all()?, &grad.reshape(flat)?)
        })?;
        Ok(smallvec![x, None])
    }
}

/// The elements of `dim` that a vector of integers names, in its order.
///
/// # Errors
/// For an index that is negative or beyond the dimension.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let ids = Tensor::new(&[1i64, 1, 0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::index_select(&x, 1, &ids)?.to_vec2::<f32>()?, [[2.0, 2.0, 1.0], [4.0, 4.0, 3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[operator(DTypes::ALL, samples, IndexSelect)]
pub fn index_select(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    let dim = normalize_dim(dim, input.rank(), OP)?;
    with_dimension(input, |input| select(input, index, dim, Special::None))
}

#[track_caller]
fn select(input: &Tensor, ids: &Tensor, dim: usize, special: Special) -> Result<Tensor> {
    ensure(ids.rank() <= 1, || wrong_shape("index_select", "index", ids.shape(), "a vector"))?;
    let ids = if ids.rank() == 0 { ids.unsqueeze(0)? } else { ids.clone() };
    dispatch1(&IndexSelect { dim, special }, &[input, &ids])
}

impl Tensor {
    /// The elements of a dimension that a vector of integers names. An index equal to its dtype's maximum gives zeros.
    #[track_caller]
    pub fn index_select<D: Dim>(&self, ids: &Tensor, dim: D) -> Result<Tensor> {
        select(self, ids, dim.to_index(self.shape(), "index_select")?, Special::LargestSkips)
    }

    /// The rows of this table that a tensor of integers of any shape names: the result's shape is that of the indices, then the row's.
    #[track_caller]
    pub fn embedding(&self, ids: &Tensor) -> Result<Tensor> {
        ensure(self.rank() == 2, || wrong_shape("embedding", "table", self.shape(), "rank 2"))?;
        dispatch1(&IndexSelect { dim: 0, special: Special::LargestSkips }, &[self, ids])
    }
}

fn samples() -> Vec<Sample> {
    let op = |dim| IndexSelect { dim, special: Special::None };
    let table = |shape: &[usize]| Array::spread(shape, -2.0..2.0);
    vec![
        Sample::new(op(0), vec![table(&[4, 3]), Array::indices(&[5], 4)], |x| {
            Array::from_fn(&[5, 3], |i| x[0].at(&[x[1].at(&[i[0]]) as usize, i[1]]))
        }),
        Sample::new(op(1), vec![table(&[2, 4, 3]), Array::indices(&[3], 4)], |x| {
            Array::from_fn(&[2, 3, 3], |i| x[0].at(&[i[0], x[1].at(&[i[1]]) as usize, i[2]]))
        }),
        Sample::new(op(0), vec![table(&[4, 3]), Array::indices(&[2, 3], 4)], |x| {
            Array::from_fn(&[2, 3, 3], |i| x[0].at(&[x[1].at(&[i[0], i[1]]) as usize, i[2]]))
        }),
    ]
}
