//! `unsqueeze(x, dim)`: a new dimension of length 1.

use crate::ops::prelude::*;

/// The view of [`unsqueeze`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Unsqueeze {
    /// Where it stands in the result.
    pub dim: usize,
}

impl View for Unsqueeze {
    const NAME: &'static str = "unsqueeze";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.unsqueeze(self.dim)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        let mut map = same_axes(input, &[]);
        map.outputs[0].insert(self.dim, None);
        map
    }

    fn derivative(&self, grad: &Tensor, _: &Meta) -> Result<Tensor> {
        view(super::squeeze::Squeeze { dim: self.dim }, grad)
    }
}

/// With a new dimension of length 1 at `dim`: a view.
#[function]
#[python(torch, method, in_place)]
#[view]
#[operator(DTypes::ALL, samples, Unsqueeze)]
pub fn unsqueeze(input: &Tensor, dim: i64) -> Result<Tensor> {
    view(Unsqueeze { dim: normalize_dim(dim, input.rank() + 1, OP)? }, input)
}

impl Tensor {
    /// With a new dimension of length 1: a view.
    #[track_caller]
    pub fn unsqueeze<D: Dim>(&self, dim: D) -> Result<Tensor> {
        view(Unsqueeze { dim: dim.to_index_plus_one(self.shape(), "unsqueeze")? }, self)
    }
}

fn samples() -> Vec<Sample> {
    vec![view_sample(Unsqueeze { dim: 2 }, &[3, 2], |x| Array::new(&[3, 2, 1], x.data.clone()))]
}
