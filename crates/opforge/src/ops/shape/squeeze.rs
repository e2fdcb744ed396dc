//! `squeeze(x, dim)`: a dimension of length 1 removed.

use crate::Dim;
use crate::operator::prelude::*;
use opforge_core::normalize_dim;

/// The view of [`squeeze`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

function! {
    /// Without dimension `dim` if its length is 1, otherwise the tensor as it is; without `dim`, all dimensions of length 1 go. A view.
    pub fn squeeze(input: &Tensor, dim: Option<i64> = None) -> Result<Tensor> {
        match dim {
            Some(dim) => {
                let dim = normalize_dim(dim, input.rank(), "squeeze")?;
                if input.dims().get(dim) == Some(&1) { view(Squeeze { dim }, input) } else { Ok(input.clone()) }
            }
            None => {
                let ones = (0..input.rank()).rev().filter(|&d| input.dims()[d] == 1);
                ones.into_iter().try_fold(input.clone(), |t, dim| view(Squeeze { dim }, &t))
            }
        }
    }
}

impl Tensor {
    /// Without a dimension of length 1; the same tensor if the length is another. A view.
    #[track_caller]
    pub fn squeeze<D: Dim>(&self, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "squeeze")?;
        if self.dims()[dim] == 1 { view(Squeeze { dim }, self) } else { Ok(self.clone()) }
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Squeeze::NAME, function: &FUNCTION, dtypes: DTypes::ALL, samples };

fn samples() -> Vec<Sample> {
    let sample = |op, shape: &[usize], reference: fn(&Array) -> Array| {
        Sample::new(op, vec![Array::spread(shape, -2.0..2.0)], move |x| reference(&x[0]))
    };
    vec![sample(ViewOp(Squeeze { dim: 1 }), &[3, 1, 2], |x| Array::new(&[3, 2], x.data.clone()))]
}
