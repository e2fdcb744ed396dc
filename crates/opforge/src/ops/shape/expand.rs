//! `expand(x, shape)`: stretched to a larger shape without a copy.

use crate::ops::prelude::*;

/// The view of [`expand`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Expand {
    /// The result's shape.
    pub shape: Shape,
}

impl View for Expand {
    const NAME: &'static str = "expand";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.broadcast_as(&self.shape, "expand")
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        AxisMap::pointwise(&[input, &Meta::contiguous(input.dtype, &self.shape)], self.shape.rank()).first_input()
    }

    fn layout_of_part(&self, input: &Layout, part: &Shape) -> Result<Layout> {
        input.broadcast_as(part, "expand")
    }

    fn derivative(&self, grad: &Tensor, input: &Meta) -> Result<Tensor> {
        crate::functional::sum_to(grad, input.shape())
    }
}

/// Stretched to `size`: new leading dimensions and those of length 1 repeat; -1 keeps a length. A view.
#[function]
#[python(method)]
#[view]
#[operator(DTypes::ALL, samples, Expand)]
pub fn expand(input: &Tensor, size: &[i64]) -> Result<Tensor> {
    let lead = size.len().saturating_sub(input.rank());
    let length = |(i, &n): (usize, &i64)| match n {
        -1 if i >= lead => Ok(input.dims()[i - lead]),
        n => usize::try_from(n).map_err(|_| Error::value(OP, "size", n, "lengths, or -1 for one to keep")),
    };
    let shape = size.iter().enumerate().map(length).collect::<Result<Shape>>()?;
    view(Expand { shape }, input)
}

impl Tensor {
    /// Stretched to a larger shape: a view whose repeated dimensions have stride 0.
    #[track_caller]
    pub fn broadcast_as<S: Into<Shape>>(&self, shape: S) -> Result<Tensor> {
        let shape = shape.into();
        if &shape == self.shape() { Ok(self.clone()) } else { view(Expand { shape }, self) }
    }

    /// As [`Tensor::broadcast_as`].
    #[track_caller]
    pub fn expand<S: Into<Shape>>(&self, shape: S) -> Result<Tensor> {
        self.broadcast_as(shape)
    }

    /// Repeated along new leading dimensions: a view.
    #[track_caller]
    pub fn broadcast_left<S: Into<Shape>>(&self, left: S) -> Result<Tensor> {
        let left = left.into();
        self.broadcast_as(left.dims().iter().chain(self.dims()).copied().collect::<Shape>())
    }
}

fn samples() -> Vec<Sample> {
    vec![view_sample(Expand { shape: [2, 3, 4].into() }, &[3, 1], |x| Array::from_fn(&[2, 3, 4], |i| x.at(&[i[1], 0])))]
}
