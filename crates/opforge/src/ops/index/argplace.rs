//! `argplace(x, dim, place)`: the index of the element that sorting a dimension brings to a place.

use opforge_tile::forms::{Rank, Sort};

use super::argsort::order;
use crate::ops::prelude::*;

/// The operator of [`argplace`]. The order is that of [`argsort`](fn@crate::functional::argsort), ascending.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct ArgPlace {
    /// The dimension.
    pub dim: usize,
    /// The first place.
    pub rank: Rank,
    /// How many places from there on.
    pub count: usize,
}

impl Plain for ArgPlace {
    const NAME: &'static str = "argplace";
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let x = inputs[0];
        check_dim(Self::NAME, x, self.dim)?;
        let first = if let Rank::At(first) = self.rank { first } else { 0 };
        ensure(first.checked_add(self.count).is_some_and(|end| end <= x.dims()[self.dim]), || {
            Error::index(Self::NAME, "place", first, format!("{} places", x.dims()[self.dim]))
        })?;
        let len = |(d, &n): (usize, &usize)| if d == self.dim { self.count } else { n };
        let shape: Shape = x.dims().iter().enumerate().map(len).collect();
        Ok(smallvec![Meta::contiguous(DType::I64, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        same_axes(inputs[0], &[self.dim])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Sort(Sort::Place { axis: self.dim, rank: self.rank })
    }
}

/// The indices, in i64, of the elements at `count` places from `place` on along a sorted dimension, which stays. Equal elements keep their order; NaN
/// counts as larger than every number.
///
/// # Errors
/// For a dimension or places out of range, and complex tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 1.0, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::argplace(&x, 0, 1, 1)?.to_vec1::<i64>()?, [2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::REAL, samples, ArgPlace, gradient = false)]
pub fn argplace(input: &Tensor, dim: usize, place: usize, count: usize) -> Result<Tensor> {
    dispatch1(&ArgPlace { dim, rank: Rank::At(place), count }, &[input])
}

/// The index of the median of the numbers along a dimension, which stays: the first NaN where there are none.
#[track_caller]
pub(crate) fn middle_number(input: &Tensor, dim: usize) -> Result<Tensor> {
    dispatch1(&ArgPlace { dim, rank: Rank::MiddleNumber, count: 1 }, &[input])
}

fn samples() -> Vec<Sample> {
    let sample = |dim: usize, rank: Rank, shape: &'static [usize], count: usize| {
        let op = ArgPlace { dim, rank, count };
        let wanted = move |x: &Array| {
            let all = order(x, dim, false);
            let mut shape = x.shape.clone();
            shape[dim] = count;
            Array::from_fn(&shape, |index| {
                let mut at = index.to_vec();
                let numbers = (0..x.shape[dim]).filter(|&i| {
                    at[dim] = i;
                    !x.at(&at).is_nan()
                });
                let middle = numbers.count().saturating_sub(1) / 2;
                at[dim] = index[dim] + if let Rank::At(first) = rank { first } else { middle };
                all.at(&at)
            })
        };
        Sample::new(op, vec![Array::spread(shape, -9.0..9.0)], move |x| wanted(&x[0])).rough()
    };
    vec![
        sample(0, Rank::At(3), &[7], 1),
        sample(1, Rank::At(1), &[3, 5], 3),
        sample(0, Rank::At(0), &[4, 3], 1),
        sample(0, Rank::MiddleNumber, &[4, 3], 1),
        sample(1, Rank::MiddleNumber, &[2, 5], 1),
    ]
}
