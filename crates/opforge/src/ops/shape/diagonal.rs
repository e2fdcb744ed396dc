//! `diagonal(x, offset, dim1, dim2)`: the diagonal of two dimensions as a new last one.

use crate::ops::prelude::*;

/// The view of [`diagonal`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Diagonal {
    /// How far above (or, negative, below) the main diagonal.
    pub offset: i64,
    /// The rows' dimension.
    pub dim1: usize,
    /// The columns' dimension.
    pub dim2: usize,
}

impl View for Diagonal {
    const NAME: &'static str = "diagonal";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.diagonal(self.offset, self.dim1, self.dim2)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        let mut map = same_axes(input, &[self.dim1, self.dim2]).dropping(&[self.dim1, self.dim2]);
        map.outputs[0].push(None);
        map
    }
}

/// The diagonal of `dim1` and `dim2`, `offset` above the main one, as a new last dimension: a view.
#[function(offset = 0, dim1 = 0, dim2 = 1)]
#[view]
#[operator(DTypes::ALL, samples, Diagonal)]
pub fn diagonal(input: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    let dim = |d| normalize_dim(d, input.rank(), OP);
    view(Diagonal { offset, dim1: dim(dim1)?, dim2: dim(dim2)? }, input)
}

impl Tensor {
    /// The diagonal of two dimensions, `offset` above the main one, as a new last dimension: a view.
    #[track_caller]
    pub fn diagonal<D1: Dim, D2: Dim>(&self, offset: i64, dim1: D1, dim2: D2) -> Result<Tensor> {
        let (dim1, dim2) = (dim1.to_index(self.shape(), "diagonal")?, dim2.to_index(self.shape(), "diagonal")?);
        view(Diagonal { offset, dim1, dim2 }, self)
    }
}

fn samples() -> Vec<Sample> {
    vec![
        view_sample(Diagonal { offset: 1, dim1: 0, dim2: 1 }, &[3, 4], |x| {
            Array::from_fn(&[3], |i| x.at(&[i[0], i[0] + 1]))
        }),
        view_sample(Diagonal { offset: -1, dim1: 2, dim2: 0 }, &[3, 2, 4], |x| {
            Array::from_fn(&[2, 3], |i| x.at(&[i[1], i[0], i[1] + 1]))
        }),
    ]
}
