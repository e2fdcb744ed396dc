//! `slice(x, dim, start, end, step)`: every `step`-th element of a dimension.

use crate::ops::prelude::*;

/// The view of [`slice`](fn@slice).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Slice {
    /// The dimension.
    pub dim: usize,
    /// The first element.
    pub start: usize,
    /// The end, exclusive.
    pub end: usize,
    /// The distance between elements, at least 1.
    pub step: usize,
}

impl View for Slice {
    const NAME: &'static str = "slice";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.slice(self.dim, self.start, self.end, self.step)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        same_axes(input, &[self.dim])
    }
}

/// Every `step`-th element of `dim` from `start` up to `end`: a view. Negative positions count from the end; positions beyond stop there.
#[function(dim = 0, start = None, end = None, step = 1)]
#[python(hidden)]
#[view]
#[operator(DTypes::ALL, samples, Slice)]
pub fn slice(input: &Tensor, dim: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Tensor> {
    view(Slice::of(OP, input, dim, start, end, step)?, input)
}

impl Slice {
    /// The slice that Python's numbers mean for a tensor.
    pub(crate) fn of(
        op: &'static str,
        input: &Tensor,
        dim: i64,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Result<Slice> {
        let dim = crate::functional::existing_dim(op, input, dim)?;
        let size = input.dims()[dim];
        let step = usize::try_from(step).map_err(|_| Error::value(op, "step", step, "a step of at least 1"))?;
        let position = |p: i64| (if p < 0 { p.saturating_add(size as i64).max(0) } else { p }) as usize;
        Ok(Slice { dim, start: position(start.unwrap_or(0)), end: end.map_or(size, position), step })
    }
}

impl Tensor {
    /// Elements `start, start + step, ..` below `end` of a dimension: a view.
    #[track_caller]
    pub fn slice<D: Dim>(&self, dim: D, start: usize, end: usize, step: usize) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "slice")?;
        view(Slice { dim, start, end, step }, self)
    }
}

fn samples() -> Vec<Sample> {
    vec![view_sample(Slice { dim: 0, start: 1, end: 6, step: 2 }, &[7, 2], |x| {
        Array::from_fn(&[3, 2], |i| x.at(&[1 + 2 * i[0], i[1]]))
    })]
}
