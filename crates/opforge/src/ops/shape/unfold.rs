//! `unfold(x, dim, size, step)`: sliding windows along a dimension.

use crate::ops::prelude::*;

/// The view of [`unfold`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Unfold {
    /// The dimension.
    pub dim: usize,
    /// The window's length.
    pub size: usize,
    /// The distance between windows.
    pub step: usize,
}

impl View for Unfold {
    const NAME: &'static str = "unfold";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.unfold(self.dim, self.size, self.step)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        let mut map = same_axes(input, &[self.dim]);
        map.outputs[0][self.dim] = None;
        map.outputs[0].push(None);
        map
    }
}

/// Windows of `size` elements, `step` apart, along `dim`; the window is a new last dimension. A view.
#[function]
#[python(method)]
#[view]
#[operator(DTypes::ALL, samples, Unfold)]
pub fn unfold(input: &Tensor, dimension: i64, size: usize, step: usize) -> Result<Tensor> {
    let op = Unfold { dim: normalize_dim(dimension, input.rank(), OP)?, size, step };
    // The window of a scalar is all that there is.
    if input.rank() == 0 { view(op, &input.reshape(1)?)?.reshape(size) } else { view(op, input) }
}

impl Tensor {
    /// Windows of `size` elements, `step` apart, along a dimension; the window is a new last dimension. A view.
    #[track_caller]
    pub fn unfold<D: Dim>(&self, dim: D, size: usize, step: usize) -> Result<Tensor> {
        view(Unfold { dim: dim.to_index(self.shape(), "unfold")?, size, step }, self)
    }
}

fn samples() -> Vec<Sample> {
    vec![
        view_sample(Unfold { dim: 0, size: 3, step: 2 }, &[8, 2], |x| {
            Array::from_fn(&[3, 2, 3], |i| x.at(&[2 * i[0] + i[2], i[1]]))
        }),
        view_sample(Unfold { dim: 0, size: 2, step: 2 }, &[5], |x| {
            Array::from_fn(&[2, 2], |i| x.at(&[2 * i[0] + i[1]]))
        }),
    ]
}
