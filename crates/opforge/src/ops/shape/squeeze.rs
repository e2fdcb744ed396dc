//! `squeeze(x, dim)`: a dimension of length 1 removed.

use crate::ops::prelude::*;

/// The view of [`squeeze`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Squeeze {
    /// The dimension.
    pub dim: usize,
}

impl View for Squeeze {
    const NAME: &'static str = "squeeze";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.squeeze(self.dim)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        same_axes(input, &[]).dropping(&[self.dim])
    }

    fn derivative(&self, grad: &Tensor, _: &Meta) -> Result<Tensor> {
        view(super::unsqueeze::Unsqueeze { dim: self.dim }, grad)
    }
}

/// Without those of the dimensions `dim` whose length is 1; without `dim`, all dimensions of length 1 go. A view.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let x = Tensor::zeros((1, 2, 1), DType::F32, &Device::Cpu)?;
/// assert_eq!(f::squeeze(&x, None)?.dims(), [2]);
/// assert_eq!(f::squeeze(&x, Some(&[0, 1]))?.dims(), [2, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None)]
#[python(torch, method, in_place)]
#[view]
#[operator(DTypes::ALL, samples, Squeeze)]
pub fn squeeze(input: &Tensor, dim: Option<&[i64]>) -> Result<Tensor> {
    let named = match dim {
        Some([]) => Axes::default(),
        dim => crate::functional::reduce_dims(OP, input, dim)?,
    };
    let ones = (0..input.rank()).rev().filter(|&d| named.contains(d) && input.dims()[d] == 1);
    ones.into_iter().try_fold(input.clone(), |t, dim| view(Squeeze { dim }, &t))
}

impl Tensor {
    /// Without a dimension of length 1; the same tensor if the length is another. A view.
    #[track_caller]
    pub fn squeeze<D: Dim>(&self, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "squeeze")?;
        if self.dims()[dim] == 1 { view(Squeeze { dim }, self) } else { Ok(self.clone()) }
    }
}

fn samples() -> Vec<Sample> {
    vec![view_sample(Squeeze { dim: 1 }, &[3, 1, 2], |x| Array::new(&[3, 2], x.data.clone()))]
}
