//! `narrow(x, dim, start, len)`: elements `start .. start + len` of a dimension.

use crate::arguments::no_dims;
use crate::ops::prelude::*;

/// The view of [`narrow`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Narrow {
    /// The dimension.
    pub dim: usize,
    /// The first element.
    pub start: usize,
    /// The number of elements.
    pub len: usize,
}

impl View for Narrow {
    const NAME: &'static str = "narrow";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.narrow(self.dim, self.start, self.len)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        same_axes(input, &[self.dim])
    }
}

/// Elements `start .. start + length` of dimension `dim`: a view. `dim` and `start` may count from the end.
#[function]
#[view]
#[operator(DTypes::ALL, samples, Narrow)]
pub fn narrow(input: &Tensor, dim: i64, start: i64, length: usize) -> Result<Tensor> {
    let dim = normalize_dim(dim, input.rank(), OP)?;
    let size = *input.dims().get(dim).ok_or_else(|| no_dims(OP))?;
    let from_end = if start < 0 { start.checked_add(size as i64) } else { Some(start) };
    let out_of_range = || Error::index(OP, "start", start, format!("{} to {size}", -(size as i64)));
    let start = from_end.and_then(|s| usize::try_from(s).ok()).ok_or_else(out_of_range)?;
    view(Narrow { dim, start, len: length }, input)
}

impl Tensor {
    /// Elements `start .. start + len` of a dimension: a view; the tensor itself if that is all of them.
    #[track_caller]
    pub fn narrow<D: Dim>(&self, dim: D, start: usize, len: usize) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "narrow")?;
        if start == 0 && self.dims()[dim] == len {
            return Ok(self.clone());
        }
        view(Narrow { dim, start, len }, self)
    }
}

fn samples() -> Vec<Sample> {
    vec![view_sample(Narrow { dim: 1, start: 1, len: 2 }, &[2, 4], |x| {
        Array::from_fn(&[2, 2], |i| x.at(&[i[0], i[1] + 1]))
    })]
}
