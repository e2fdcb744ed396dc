//! `scatter_add(x, dim, index, src)`: `src` added at the places that an index tensor names.

use opforge_tile::forms::{Combine, Index, Indices, Special};

use crate::family::index::{check_scatter, widen, written_axes};
use crate::functional::along_dimension;
use crate::ops::prelude::*;

/// The operator of [`scatter_add`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct ScatterAdd {
    /// The dimension that is indexed.
    pub dim: usize,
    /// Which indices mean something special.
    pub special: Special,
}

impl Plain for ScatterAdd {
    const NAME: &'static str = "scatter_add";
    const INPUTS: usize = 3;
    const SAVES: Saves = Saves::inputs([1]);
    const OVERWRITES: u32 = 1;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        check_scatter(Self::NAME, inputs, self.dim)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        written_axes(inputs, self.dim)
    }

    fn form(&self, place: &Place) -> Lowering {
        let indices = Indices { special: self.special, part: place.of_input(0, self.dim) };
        Lowering::Index(Index::Scatter { axis: self.dim, indices, how: Combine::Add })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let src = ctx.when(2, || {
            let ids = ctx.input(1)?;
            let gather = super::gather::Gather { dim: self.dim, special: self.special };
            widen(&dispatch1(&gather, &[&grad, &ids])?, ctx.input_meta(2))
        })?;
        Ok(smallvec![Some(grad), None, src])
    }
}

/// A copy of `input` with `src` added along `dim` at `index`: `out[.., index[i], ..] += src[i]`. Places named several times get the sum, always in the same order.
///
/// # Errors
/// For an index that is negative or beyond the dimension.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let ids = Tensor::new(&[0i64, 2, 0], &Device::Cpu)?;
/// let src = Tensor::new(&[10f32, 20.0, 30.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::scatter_add(&x, 0, &ids, &src)?.to_vec1::<f32>()?, [41.0, 2.0, 23.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::COMPUTED, samples, ScatterAdd)]
pub fn scatter_add(input: &Tensor, dim: i64, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    let dim = normalize_dim(dim, input.rank(), OP)?;
    let op = ScatterAdd { dim, special: Special::None };
    along_dimension(input, index, src, |input, index, src| dispatch_to(&op, &[input, index, src], out))
}

impl Tensor {
    /// A copy with `src` added at the places that an index tensor names: see [`scatter_add`]. An index equal to its dtype's maximum is skipped.
    #[track_caller]
    pub fn scatter_add<D: Dim>(&self, ids: &Tensor, src: &Tensor, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "scatter_add")?;
        dispatch1(&ScatterAdd { dim, special: Special::LargestSkips }, &[self, ids, src])
    }
}

fn samples() -> Vec<Sample> {
    let op = ScatterAdd { dim: 0, special: Special::None };
    let inputs = vec![Array::spread(&[3, 4], -2.0..2.0), Array::indices(&[5, 3], 3), Array::spread(&[5, 4], -2.0..2.0)];
    vec![Sample::new(op, inputs, |x| {
        let mut out = x[0].clone();
        each_index(&[5, 3], |i| out.data[x[1].at(i) as usize * 4 + i[1]] += x[2].at(i));
        out
    })]
}
