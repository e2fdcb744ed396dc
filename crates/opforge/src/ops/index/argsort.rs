//! `argsort(x, dim)`: the indices that sort a dimension.

use opforge_tile::forms::Sort;

use crate::D;
use crate::arguments::no_dims;
use crate::ops::prelude::*;

/// The operator of [`argsort`]. The order is stable; NaN counts as larger than every number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct ArgSort {
    /// The dimension.
    pub dim: usize,
    /// Whether the largest element comes first.
    pub descending: bool,
    /// The result's dtype: u32 or i64.
    pub index: DType,
    /// How many of the first are wanted; all of them if there are not so many.
    pub count: usize,
}

impl Plain for ArgSort {
    const NAME: &'static str = "argsort";
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let x = inputs[0];
        check_dim(Self::NAME, x, self.dim)?;
        let len = |(d, &n): (usize, &usize)| if d == self.dim { n.min(self.count) } else { n };
        let shape: Shape = x.dims().iter().enumerate().map(len).collect();
        Ok(smallvec![Meta::contiguous(self.index, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        same_axes(inputs[0], &[self.dim])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Sort(Sort::Order { axis: self.dim, descending: self.descending })
    }
}

/// The indices, in i64, that sort the elements along `dim`. Equal elements keep their order; NaN counts as larger than every number.
///
/// # Errors
/// For a dimension out of range, and complex tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 1.0, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::argsort(&x, -1, false, true)?.to_vec1::<i64>()?, [1, 2, 0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = -1, descending = false, *, stable = false)]
#[operator(DTypes::REAL, samples, ArgSort, gradient = false)]
pub fn argsort(input: &Tensor, dim: i64, descending: bool, stable: bool) -> Result<Tensor> {
    // Every order is stable here.
    let _ = stable;
    let dim = normalize_dim(dim, input.rank(), OP)?;
    if input.rank() == 0 {
        return Tensor::zeros((), DType::I64, input.device());
    }
    dispatch1(&ArgSort { dim, descending, index: Rules::TORCH.index, count: usize::MAX }, &[input])
}

impl Tensor {
    /// The indices, in u32, that sort each row. Equal elements keep their order; NaN counts as larger than every number.
    ///
    /// # Errors
    /// For scalars and complex tensors.
    #[track_caller]
    pub fn arg_sort_last_dim(&self, asc: bool) -> Result<Tensor> {
        let dim = self.rank().checked_sub(1).ok_or_else(|| no_dims("arg_sort_last_dim"))?;
        dispatch1(&ArgSort { dim, descending: !asc, index: Rules::SAME.index, count: usize::MAX }, &[self])
    }

    /// Each row sorted, and the indices, in u32, that sort it: see [`Tensor::arg_sort_last_dim`].
    ///
    /// # Errors
    /// As [`Tensor::arg_sort_last_dim`].
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let (sorted, ids) = Tensor::new(&[3f32, 1.0, 2.0], &Device::Cpu)?.sort_last_dim(false)?;
    /// assert_eq!(sorted.to_vec1::<f32>()?, [3.0, 2.0, 1.0]);
    /// assert_eq!(ids.to_vec1::<u32>()?, [0, 2, 1]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_last_dim(&self, asc: bool) -> Result<(Tensor, Tensor)> {
        let ids = self.arg_sort_last_dim(asc)?;
        Ok((self.gather(&ids, D::Minus1)?, ids))
    }
}

fn samples() -> Vec<Sample> {
    let sample = |dim: usize, descending: bool, shape: &'static [usize], count: usize| {
        let op = ArgSort { dim, descending, index: DType::I64, count };
        let first = move |x: &Array| {
            let mut shape = x.shape.clone();
            shape[dim] = count.min(shape[dim]);
            let all = order(x, dim, descending);
            Array::from_fn(&shape, |index| all.at(index))
        };
        Sample::new(op, vec![Array::spread(shape, -9.0..9.0)], move |x| first(&x[0])).rough()
    };
    vec![
        sample(0, false, &[7], usize::MAX),
        sample(1, true, &[3, 5], usize::MAX),
        sample(0, false, &[4, 3], usize::MAX),
        sample(0, true, &[9, 2], 2),
        sample(1, false, &[2, 12], 1),
    ]
}

/// The place of the element that comes `index[dim]`-th: it has that many before it.
pub(super) fn order(x: &Array, dim: usize, descending: bool) -> Array {
    Array::from_fn(&x.shape, |index| {
        let at = |n: usize| {
            let mut index = index.to_vec();
            index[dim] = n;
            x.at(&index)
        };
        let smaller = |a: f64, b: f64| a < b || (b.is_nan() && !a.is_nan());
        let precedes = |a: usize, b: usize| {
            let (first, second) = if descending { (at(b), at(a)) } else { (at(a), at(b)) };
            smaller(first, second) || (!smaller(second, first) && a < b)
        };
        let len = x.shape[dim];
        let rank = |n: usize| (0..len).filter(|&m| precedes(m, n)).count();
        (0..len).find(|&n| rank(n) == index[dim]).map_or(f64::NAN, |n| n as f64)
    })
}
