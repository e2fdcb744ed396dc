//! `permute(x, dims)`: dimensions in another order.

use crate::Dims;
use crate::ops::prelude::*;

/// The view of [`permute`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Permute {
    /// The result's dimension `k` is the input's `dims[k]`.
    pub dims: SmallVec<[usize; 6]>,
}

impl View for Permute {
    const NAME: &'static str = "permute";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.permute(&self.dims)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        let names = |dims: &[usize]| dims.iter().map(|&d| Some(d as Axis)).collect();
        let own: Vec<usize> = (0..input.rank()).collect();
        AxisMap {
            inputs: vec![names(&own)],
            outputs: vec![names(&self.dims)],
            roles: SmallVec::from_elem(Role::Map, input.rank()),
        }
    }

    fn derivative(&self, grad: &Tensor, _: &Meta) -> Result<Tensor> {
        let mut inverse: SmallVec<[usize; 6]> = SmallVec::from_elem(0, self.dims.len());
        self.dims.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
        view(Permute { dims: inverse }, grad)
    }
}

/// Dimensions in another order: the result's dimension `k` is the input's `dims[k]`. A view.
#[function]
#[view]
#[operator(DTypes::ALL, samples, Permute)]
pub fn permute(input: &Tensor, dims: &[i64]) -> Result<Tensor> {
    let dims = dims.iter().map(|&d| normalize_dim(d, input.rank(), OP)).collect::<Result<_>>()?;
    view(Permute { dims }, input)
}

impl Tensor {
    /// Dimensions in another order: the result's dimension `k` is this tensor's `dims[k]`. A view.
    #[track_caller]
    pub fn permute<D: Dims>(&self, dims: D) -> Result<Tensor> {
        view(Permute { dims: dims.to_indexes(self.shape(), "permute")? }, self)
    }
}

fn samples() -> Vec<Sample> {
    vec![view_sample(Permute { dims: smallvec![2, 0, 1] }, &[2, 3, 4], |x| {
        Array::from_fn(&[4, 2, 3], |i| x.at(&[i[1], i[2], i[0]]))
    })]
}
