//! `scatter(x, dim, index, src)`: `src` written at the places that an index tensor names.

use opforge_tile::forms::{Combine, Index, Indices, Special};

use crate::family::index::{check_scatter, widen, written_axes};
use crate::functional::along_dimension;
use crate::ops::prelude::*;

/// The operator of [`scatter`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Scatter {
    /// The dimension that is indexed.
    pub dim: usize,
    /// Which indices mean something special.
    pub special: Special,
}

impl Plain for Scatter {
    const NAME: &'static str = "scatter";
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
        Lowering::Index(Index::Scatter { axis: self.dim, indices, how: Combine::Set })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let ids = ctx.input(1)?;
        let x = ctx.when(0, || {
            let zeros = Tensor::zeros(ids.shape(), grad.dtype(), grad.device())?;
            dispatch1(self, &[&grad, &ids, &zeros])
        })?;
        let src = ctx.when(2, || {
            let gather = super::gather::Gather { dim: self.dim, special: self.special };
            widen(&dispatch1(&gather, &[&grad, &ids])?, ctx.input_meta(2))
        })?;
        Ok(smallvec![x, None, src])
    }
}

/// A copy of `input` with `src` written along `dim` at `index`: `out[.., index[i], ..] = src[i]`. Of several values for one place the last one
/// stays; the gradient assumes that there is only one. With `reduce`, `"add"` or `"multiply"`, values are combined with what is there.
///
/// # Errors
/// For an index that is negative or beyond the dimension.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let ids = Tensor::new(&[2i64, 0], &Device::Cpu)?;
/// let src = Tensor::new(&[10f32, 20.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::scatter(&x, 0, &ids, &src, None)?.to_vec1::<f32>()?, [20.0, 2.0, 10.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, reduce = None, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::ALL, samples, Scatter)]
pub fn scatter(input: &Tensor, dim: i64, index: &Tensor, src: &Tensor, reduce: Option<&str>) -> Result<Tensor> {
    scatter_to(input, dim, index, src, reduce, out)
}

/// [`scatter`] with a destination.
#[track_caller]
pub(crate) fn scatter_to(
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    src: &Tensor,
    reduce: Option<&str>,
    out: Out<'_>,
) -> Result<Tensor> {
    const OP: &str = "scatter";
    match reduce {
        None => {}
        Some("add") => return crate::functional::scatter_add(input, dim, index, src),
        Some("multiply") => return crate::functional::scatter_reduce(input, dim, index, src, "prod", true),
        Some(other) => return Err(Error::value(OP, "reduce", other, "\"add\", \"multiply\" or none")),
    }
    let dim = normalize_dim(dim, input.rank(), OP)?;
    let op = Scatter { dim, special: Special::None };
    along_dimension(input, index, src, |input, index, src| dispatch_to(&op, &[input, index, src], out))
}

impl Tensor {
    /// A copy with `src` written at the places that an index tensor names: see [`scatter`]. An index equal to its dtype's maximum is skipped.
    #[track_caller]
    pub fn scatter<D: Dim>(&self, ids: &Tensor, src: &Tensor, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "scatter")?;
        dispatch1(&Scatter { dim, special: Special::LargestSkips }, &[self, ids, src])
    }
}

fn samples() -> Vec<Sample> {
    let op = Scatter { dim: 1, special: Special::None };
    let ids = Array { content: Content::Index, ..Array::new(&[2, 3], vec![3.0, 0.0, 1.0, 2.0, 3.0, 0.0]) };
    let inputs = vec![Array::spread(&[3, 4], -2.0..2.0), ids, Array::spread(&[2, 3], -2.0..2.0)];
    vec![Sample::new(op, inputs, |x| {
        let mut out = x[0].clone();
        each_index(&[2, 3], |i| out.data[i[0] * 4 + x[1].at(i) as usize] = x[2].at(i));
        out
    })]
}
