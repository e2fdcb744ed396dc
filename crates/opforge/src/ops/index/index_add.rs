//! `index_add(x, dim, index, src)`: slices of `src` added at the indices of a vector.

use opforge_tile::forms::{Index, Indices, Special};

use crate::family::index::check_ids;
use crate::functional::along_dimension;
use crate::ops::prelude::*;

/// The operator of [`index_add`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct IndexAdd {
    /// The dimension that is indexed.
    pub dim: usize,
    /// Which indices mean something special.
    pub special: Special,
}

impl Plain for IndexAdd {
    const NAME: &'static str = "index_add";
    const INPUTS: usize = 3;
    const SAVES: Saves = Saves::inputs([1]);
    const OVERWRITES: u32 = 1;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let [x, ids, src] = [inputs[0], inputs[1], inputs[2]];
        check_ids(Self::NAME, ids)?;
        let expected = || {
            let mut dims = x.shape().clone().into_dims();
            *dims.get_mut(self.dim)? = *ids.dims().first()?;
            Some(Shape::from(dims))
        };
        if ids.rank() != 1 || expected().is_none_or(|shape| &shape != src.shape()) {
            let accepted = format!("the shape {:?} with the index's length along dim {}", x.shape(), self.dim);
            return Err(Error::shapes(Self::NAME, ids.shape(), src.shape(), accepted));
        }
        check_dtypes(Self::NAME, x, src)?;
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (rank, n) = (inputs[0].rank(), inputs[0].rank() as Axis);
        let own: SmallVec<[Option<Axis>; 6]> = (0..n).map(Some).collect();
        let mut src = own.clone();
        src[self.dim] = Some(n);
        AxisMap {
            inputs: vec![own.clone(), smallvec![Some(n)], src],
            outputs: vec![own],
            roles: SmallVec::from_elem(Role::Map, rank + 1),
        }
        .with_roles(&[self.dim], Role::Placed)
        .with_roles(&[rank], Role::SumWith)
    }

    fn form(&self, place: &Place) -> Lowering {
        let indices = Indices { special: self.special, part: place.of_input(0, self.dim) };
        Lowering::Index(Index::AddSlices { axis: self.dim, indices })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let src = ctx.when(2, || {
            let select = super::index_select::IndexSelect { dim: self.dim, special: self.special };
            dispatch1(&select, &[&grad, &ctx.input(1)?])
        })?;
        Ok(smallvec![Some(grad), None, src])
    }
}

/// A copy of `input` with slice `i` of `source`, times `alpha`, added to slice `index[i]`, along `dim`. Slices named several times get the
/// sum, always in the same order.
///
/// # Errors
/// For an index that is negative or beyond the dimension, and a source of another shape.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let ids = Tensor::new(&[2i64, 2], &Device::Cpu)?;
/// let src = Tensor::new(&[10f32, 20.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::index_add(&x, 0, &ids, &src, 1i64.into())?.to_vec1::<f32>()?, [1.0, 2.0, 33.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, alpha = Scalar::Int(1), out)]
#[python(torch, method, in_place)]
#[operator(DTypes::COMPUTED, samples, IndexAdd)]
pub fn index_add(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor, alpha: Scalar) -> Result<Tensor> {
    let dim = normalize_dim(dim, input.rank(), OP)?;
    let scaled = match alpha.as_real() == Some(1.0) {
        true => source.clone(),
        false => crate::functional::mul(source.into(), Operand::Scalar(alpha))?,
    };
    let op = IndexAdd { dim, special: Special::None };
    along_dimension(input, index, &scaled, |input, index, source| dispatch_to(&op, &[input, index, source], out))
}

impl Tensor {
    /// A copy with slices of `src` added at the indices of a vector: see [`index_add`]. An index equal to its dtype's maximum is skipped.
    #[track_caller]
    pub fn index_add<D: Dim>(&self, ids: &Tensor, src: &Tensor, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "index_add")?;
        dispatch1(&IndexAdd { dim, special: Special::LargestSkips }, &[self, ids, src])
    }
}

fn samples() -> Vec<Sample> {
    let op = IndexAdd { dim: 1, special: Special::None };
    let inputs = vec![Array::spread(&[2, 4], -2.0..2.0), Array::indices(&[5], 4), Array::spread(&[2, 5], -2.0..2.0)];
    vec![Sample::new(op, inputs, |x| {
        let mut out = x[0].clone();
        each_index(&[2, 5], |i| out.data[i[0] * 4 + x[1].at(&[i[1]]) as usize] += x[2].at(i));
        out
    })]
}
