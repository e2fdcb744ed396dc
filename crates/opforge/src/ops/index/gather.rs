//! `gather(x, dim, index)`: the elements that an index tensor of the result's shape names along a dimension.

use opforge_tile::forms::{Index, Indices, Special};

use crate::family::index::{along_axes, check_along, onto};
use crate::functional::atleast_1d;
use crate::ops::prelude::*;

/// The operator of [`gather`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Gather {
    /// The dimension that is indexed.
    pub dim: usize,
    /// Which indices mean something special.
    pub special: Special,
}

impl Plain for Gather {
    const NAME: &'static str = "gather";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves::inputs([1]);

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        check_along(Self::NAME, inputs[0], inputs[1], self.dim)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[1].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let mut map = along_axes(inputs, self.dim);
        map.inputs[0][self.dim] = Some(self.dim as Axis);
        map.with_roles(&[self.dim], Role::Lookup)
    }

    fn form(&self, place: &Place) -> Lowering {
        let indices = Indices { special: self.special, part: place.of_input(0, self.dim) };
        Lowering::Index(Index::Gather { axis: self.dim, indices })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let x = ctx.when(0, || {
            let op = super::scatter_add::ScatterAdd { dim: self.dim, special: self.special };
            onto(&op, ctx.zeros(0)?, &ctx.input(1)?, &ctx.grad(0)?)
        })?;
        Ok(smallvec![x, None])
    }
}

/// The element `index[i]` along `dim`, at every place of `index`, which has the input's rank and is nowhere longer but along `dim`, or has no
/// elements.
///
/// # Errors
/// For an index that is negative or beyond the dimension.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let ids = Tensor::new(&[[1i64], [0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::gather(&x, 1, &ids)?.to_vec2::<f32>()?, [[2.0], [3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[operator(DTypes::ALL, samples, Gather)]
pub fn gather(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    gather_by(input, normalize_dim(dim, input.rank(), OP)?, index, Special::None)
}

/// As [`gather`], where indices may mean something special.
#[track_caller]
pub(crate) fn gather_by(input: &Tensor, dim: usize, index: &Tensor, special: Special) -> Result<Tensor> {
    if index.elem_count() == 0 {
        let nothing = Tensor::zeros(index.shape(), input.dtype(), input.device())?;
        return crate::functional::constant_in(nothing, &[input]);
    }
    let op = Gather { dim, special };
    if input.rank() > 0 && index.rank() > 0 {
        return dispatch1(&op, &[input, index]);
    }
    // Scalars count as one element.
    dispatch1(&op, &[&atleast_1d(input)?, &atleast_1d(index)?])?.reshape(index.shape())
}

impl Tensor {
    /// The elements that an index tensor names along a dimension: see [`gather`]. An index equal to its dtype's maximum gives zero.
    #[track_caller]
    pub fn gather<D: Dim>(&self, ids: &Tensor, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "gather")?;
        dispatch1(&Gather { dim, special: Special::LargestSkips }, &[self, ids])
    }
}

fn samples() -> Vec<Sample> {
    let op = |dim| Gather { dim, special: Special::None };
    let from_end = Gather { dim: 1, special: Special::NegativeFromEnd };
    vec![
        Sample::new(from_end, vec![Array::spread(&[3, 4], -2.0..2.0), Array::indices(&[3, 5], 4)], |x| {
            Array::from_fn(&[3, 5], |i| x[0].at(&[i[0], x[1].at(i) as usize]))
        }),
        Sample::new(op(1), vec![Array::spread(&[3, 4], -2.0..2.0), Array::indices(&[2, 5], 4)], |x| {
            Array::from_fn(&[2, 5], |i| x[0].at(&[i[0], x[1].at(i) as usize]))
        }),
        Sample::new(op(0), vec![Array::spread(&[3, 4, 2], -2.0..2.0), Array::indices(&[2, 4, 2], 3)], |x| {
            Array::from_fn(&[2, 4, 2], |i| x[0].at(&[x[1].at(i) as usize, i[1], i[2]]))
        }),
    ]
}
