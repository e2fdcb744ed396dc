//! Parts of tensors, and tensors with a part replaced. All leave their inputs as they are and carry gradients.

use std::ops::{Bound, RangeBounds};

use super::index::positions;
use crate::family::{ensure, wrong_shape};
use crate::{D, Dim, Error, Result, Shape, Tensor};

impl Tensor {
    /// The element `i` of the first dimension, which goes away: a view. A scalar is returned as it is.
    ///
    /// # Errors
    /// For an index out of range.
    #[track_caller]
    pub fn get(&self, i: usize) -> Result<Tensor> {
        if self.rank() == 0 { Ok(self.clone()) } else { self.get_on_dim(0, i) }
    }

    /// The element `i` of a dimension, which goes away: a view.
    ///
    /// # Errors
    /// For an index or a dimension out of range.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let t = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    /// assert_eq!(t.get_on_dim(1, 0)?.to_vec1::<f32>()?, [1.0, 3.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn get_on_dim<D: Dim>(&self, dim: D, i: usize) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "get_on_dim")?;
        self.narrow(dim, i, 1)?.squeeze(dim)
    }

    /// A dimension cut into at most `chunks` views, whose lengths differ by 1 at most, the longer ones first.
    ///
    /// # Errors
    /// For no chunks, and a dimension out of range.
    #[track_caller]
    pub fn chunk<D: Dim>(&self, chunks: usize, dim: D) -> Result<Vec<Tensor>> {
        let dim = dim.to_index(self.shape(), "chunk")?;
        let len = self.dims()[dim];
        ensure(chunks != 0, || Error::value("chunk", "chunks", chunks, "at least one"))?;
        let (short, longer) = (len / chunks, len % chunks);
        let chunks = if short == 0 { longer } else { chunks };
        let part = |i: usize| self.narrow(dim, i * short + i.min(longer), short + usize::from(i < longer));
        crate::functional::views(chunks, part)
    }

    /// Elements moved along a dimension by `shift` places, towards its beginning where that is negative; those that leave at one end come in at the other.
    ///
    /// # Errors
    /// For a dimension out of range.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let t = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
    /// assert_eq!(t.roll(1, 0)?.to_vec1::<f32>()?, [3.0, 1.0, 2.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn roll<D: Dim>(&self, shift: i32, dim: D) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "roll")?;
        crate::functional::roll(self, &[shift.into()], Some(&[dim as i64]))
    }

    /// The tensor laid side by side with itself, `shape[d]` times in each dimension. Where `shape` is shorter than the tensor's, it names the first
    /// dimensions; where it is longer, the tensor gets leading ones of length 1.
    ///
    /// # Errors
    /// When the result is too large.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let t = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
    /// assert_eq!(t.repeat((2, 2))?.to_vec2::<f32>()?, [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]);
    /// assert_eq!(t.reshape((2, 1))?.repeat(2)?.to_vec2::<f32>()?, [[1.0], [2.0], [1.0], [2.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn repeat<S: Into<Shape>>(&self, shape: S) -> Result<Tensor> {
        let times = shape.into();
        let rank = self.rank().max(times.rank());
        let ones = |rank_before: usize| vec![1; rank - rank_before];
        let own = [ones(self.rank()), self.dims().to_vec()].concat();
        let times = [times.dims().to_vec(), ones(times.rank())].concat();
        // Each dimension becomes a pair: the repetitions, then the elements.
        let pairs =
            |first: &dyn Fn(usize) -> usize| -> Vec<usize> { (0..rank).flat_map(|d| [first(d), own[d]]).collect() };
        let product = |d: usize| times[d].checked_mul(own[d]);
        let shape: Option<Shape> = (0..rank).map(product).collect();
        let too_large = || Error::shapes("repeat", self.shape(), &times, "sizes whose product fits the address space");
        let shape = shape.ok_or_else(too_large)?;
        shape.check("repeat", self.dtype().size_in_bytes())?;
        self.reshape(pairs(&|_| 1))?.broadcast_as(pairs(&|d| times[d]))?.reshape(shape)
    }

    /// With the first and the last element of a dimension repeated before and after it.
    ///
    /// # Errors
    /// For a dimension that is empty or out of range.
    #[track_caller]
    pub fn pad_with_same<D: Dim>(&self, dim: D, left: usize, right: usize) -> Result<Tensor> {
        if left == 0 && right == 0 {
            return Ok(self.clone());
        }
        let dim = dim.to_index(self.shape(), "pad_with_same")?;
        let Some(last) = self.dims()[dim].checked_sub(1) else {
            return Err(wrong_shape("pad_with_same", "input", self.shape(), "an element to repeat"));
        };
        let edge = |at: usize, times: usize| {
            let mut shape = self.shape().clone().into_dims();
            shape[dim] = times;
            self.narrow(dim, at, 1)?.broadcast_as(shape)
        };
        let parts = [(0, left), (last, right)].map(|(at, times)| edge(at, times));
        let [before, after] = parts;
        Tensor::cat(&[&before?, self, &after?], dim)
    }

    /// A copy with the elements from `start` on along a dimension replaced by `src`, which elsewhere has equal lengths.
    ///
    /// # Errors
    /// For a source of another dtype or shape, or one that does not fit.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let t = Tensor::new(&[[0f32, 1.0, 2.0], [3.0, 4.0, 5.0]], &Device::Cpu)?;
    /// let src = Tensor::new(&[[88f32], [99.0]], &Device::Cpu)?;
    /// assert_eq!(t.slice_scatter(&src, 1, 2)?.to_vec2::<f32>()?, [[0.0, 1.0, 88.0], [3.0, 4.0, 99.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_scatter<D: Dim>(&self, src: &Tensor, dim: D, start: usize) -> Result<Tensor> {
        let dim = dim.to_index(self.shape(), "slice_scatter")?;
        let size = self.dims()[dim];
        let equal = |(d, (a, b)): (usize, (&usize, &usize))| d == dim || a == b;
        if self.rank() != src.rank() || !self.dims().iter().zip(src.dims()).enumerate().all(equal) {
            let accepted = format!("equal lengths but along dim {dim}");
            return Err(Error::shapes("slice_scatter", self.shape(), src.shape(), accepted).bt());
        }
        ensure(self.dtype() == src.dtype(), || Error::dtypes("slice_scatter", self.dtype(), src.dtype()).bt())?;
        let Some(end) = start.checked_add(src.dims()[dim]).filter(|&end| end <= size) else {
            let given = format!("start {start}, len {} in dim {dim}", src.dims()[dim]);
            return Err(Error::index("slice_scatter", "range", given, format!("start + len <= {size}")).bt());
        };
        Tensor::cat(&[&self.narrow(dim, 0, start)?, src, &self.narrow(dim, end, size - end)?], dim)
    }

    /// As [`Tensor::slice_scatter`], along the first dimension.
    ///
    /// # Errors
    /// As [`Tensor::slice_scatter`].
    #[track_caller]
    pub fn slice_scatter0(&self, src: &Tensor, start: usize) -> Result<Tensor> {
        self.slice_scatter(src, 0, start)
    }

    /// A copy with the elements in a range of each dimension replaced by `src`, whose shape is that of the ranges.
    ///
    /// # Errors
    /// When there is not a range for each dimension, one is out of range, or `src` has another shape or dtype.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let t = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    /// let src = Tensor::new(&[[9f32]], &Device::Cpu)?;
    /// assert_eq!(t.slice_assign(&[1..2, 0..1], &src)?.to_vec2::<f32>()?, [[1.0, 2.0], [9.0, 4.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_assign<R: RangeBounds<usize>>(&self, ranges: &[R], src: &Tensor) -> Result<Tensor> {
        if ranges.len() != self.rank() {
            let accepted = format!("a range for each dimension of {:?}", self.shape());
            return Err(Error::index("slice_assign", "ranges", ranges.len(), accepted).bt());
        }
        let mut places = Vec::with_capacity(ranges.len());
        for (range, &size) in ranges.iter().zip(self.dims()) {
            let (start, end) = positions(cloned(range.start_bound()), cloned(range.end_bound()), size);
            if start > end || end > size {
                let given = format!("{start}..{end}");
                return Err(Error::index("slice_assign", "range", given, format!("a range within 0..{size}")).bt());
            }
            places.push((start, end - start));
        }
        let shape: Shape = places.iter().map(|&(_, len)| len).collect();
        if &shape != src.shape() {
            return Err(Error::shapes("slice_assign", &shape, src.shape(), "a source of the ranges' shape").bt());
        }
        assign(self, &places, 0, src)
    }

    /// Elements of a dimension as Python counts it: `-1` is the last dimension.
    ///
    /// # Errors
    /// For a dimension out of range.
    pub fn normalize_axis(&self, axis: i64) -> Result<usize> {
        let place = usize::try_from(axis.unsigned_abs()).unwrap_or(usize::MAX);
        if axis < 0 {
            D::Minus(place).to_index(self.shape(), "normalize_axis")
        } else {
            place.to_index(self.shape(), "normalize_axis")
        }
    }
}

fn cloned(bound: Bound<&usize>) -> Bound<usize> {
    bound.cloned()
}

/// Replaces from the outermost dimension inwards: each step copies only what the ranges before it select.
#[track_caller]
fn assign(base: &Tensor, places: &[(usize, usize)], dim: usize, src: &Tensor) -> Result<Tensor> {
    let Some(&(start, len)) = places.get(dim) else {
        return match base.dtype() == src.dtype() {
            true if dim == 0 => src.copy(),
            true => Ok(src.clone()),
            false => Err(Error::dtypes("slice_assign", base.dtype(), src.dtype()).bt()),
        };
    };
    let inner = assign(&base.narrow(dim, start, len)?, places, dim + 1, src)?;
    base.slice_scatter(&inner, dim, start)
}
