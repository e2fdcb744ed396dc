//! `transpose(x, dim0, dim1)`: two dimensions exchanged.

use crate::ops::prelude::*;

/// The view of [`transpose`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Transpose {
    /// One dimension.
    pub dim0: usize,
    /// The other.
    pub dim1: usize,
}

impl View for Transpose {
    const NAME: &'static str = "transpose";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.transpose(self.dim0, self.dim1)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        let mut map = same_axes(input, &[]);
        map.outputs[0].swap(self.dim0, self.dim1);
        map
    }

    fn derivative(&self, grad: &Tensor, _: &Meta) -> Result<Tensor> {
        view(self.clone(), grad)
    }
}

/// Dimensions `dim0` and `dim1` exchanged: a view.
#[function]
#[python(torch, method, in_place)]
#[view]
#[operator(DTypes::ALL, samples, Transpose)]
pub fn transpose(input: &Tensor, dim0: i64, dim1: i64) -> Result<Tensor> {
    let dim = |d| normalize_dim(d, input.rank(), OP);
    let (dim0, dim1) = (dim(dim0)?, dim(dim1)?);
    if input.rank() == 0 { Ok(input.clone()) } else { view(Transpose { dim0, dim1 }, input) }
}

impl Tensor {
    /// Two dimensions exchanged: a view.
    #[track_caller]
    pub fn transpose<D1: Dim, D2: Dim>(&self, dim0: D1, dim1: D2) -> Result<Tensor> {
        let (dim0, dim1) = (dim0.to_index(self.shape(), "transpose")?, dim1.to_index(self.shape(), "transpose")?);
        if dim0 == dim1 { Ok(self.clone()) } else { view(Transpose { dim0, dim1 }, self) }
    }

    /// The last two dimensions exchanged: a view.
    ///
    /// # Errors
    /// When there are fewer than two.
    #[track_caller]
    pub fn t(&self) -> Result<Tensor> {
        ensure(self.rank() >= 2, || wrong_shape("t", "shape", self.shape(), "rank at least 2"))?;
        self.transpose(self.rank() - 2, self.rank() - 1)
    }
}

fn samples() -> Vec<Sample> {
    vec![view_sample(Transpose { dim0: 0, dim1: 2 }, &[2, 3, 4], |x| {
        Array::from_fn(&[4, 3, 2], |i| x.at(&[i[2], i[1], i[0]]))
    })]
}
