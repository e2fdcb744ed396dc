//! `tensor.i(..)`: indexing with numbers, ranges and index tensors.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::Tensor;
use crate::{Error, Result};

/// What selects elements along one dimension.
#[derive(Debug, Clone)]
pub enum TensorIndexer {
    /// One element; the dimension goes away.
    Select(usize),
    /// A range.
    Narrow(Bound<usize>, Bound<usize>),
    /// The elements that a vector of indices names.
    IndexSelect(Tensor),
}

impl From<usize> for TensorIndexer {
    fn from(i: usize) -> Self {
        TensorIndexer::Select(i)
    }
}
impl From<&[u32]> for TensorIndexer {
    fn from(ids: &[u32]) -> Self {
        TensorIndexer::from(ids.to_vec())
    }
}
impl From<Vec<u32>> for TensorIndexer {
    fn from(ids: Vec<u32>) -> Self {
        let len = ids.len();
        let ids = Tensor::from_vec(ids, len, &crate::Device::Cpu).expect("a vector has the shape of its length");
        TensorIndexer::IndexSelect(ids)
    }
}
impl From<&Tensor> for TensorIndexer {
    fn from(ids: &Tensor) -> Self {
        TensorIndexer::IndexSelect(ids.clone())
    }
}

macro_rules! ranges {
    ($($ty:ty),*) => {
        $(impl From<$ty> for TensorIndexer {
            fn from(range: $ty) -> Self {
                use std::ops::RangeBounds;
                TensorIndexer::Narrow(range.start_bound().cloned(), range.end_bound().cloned())
            }
        })*
    };
}
ranges!(Range<usize>, RangeFrom<usize>, RangeFull, RangeInclusive<usize>, RangeTo<usize>, RangeToInclusive<usize>);

impl Tensor {
    #[track_caller]
    fn index(&self, indexers: &[TensorIndexer]) -> Result<Tensor> {
        if indexers.len() > self.rank() {
            let accepted = format!("at most {}, for the shape {:?}", self.rank(), self.shape());
            return Err(Error::index("i", "indices", indexers.len(), accepted));
        }
        let mut out = self.clone();
        let mut dim = 0;
        for indexer in indexers {
            out = match indexer {
                TensorIndexer::Select(i) => out.narrow(dim, *i, 1)?.squeeze(dim)?,
                TensorIndexer::Narrow(start, end) => {
                    let (start, end) = positions(*start, *end, out.dims()[dim]);
                    out.narrow(dim, start, end.saturating_sub(start))?
                }
                TensorIndexer::IndexSelect(ids) => out.index_select(&ids.to_device(self.device())?, dim)?,
            };
            dim += usize::from(!matches!(indexer, TensorIndexer::Select(_)));
        }
        Ok(out)
    }
}

/// A range's start and exclusive end. A reversed range starts where it says and is empty.
pub(super) fn positions(start: Bound<usize>, end: Bound<usize>, size: usize) -> (usize, usize) {
    let start = match start {
        Bound::Included(n) => n,
        Bound::Excluded(n) => n.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match end {
        Bound::Included(n) => n.saturating_add(1),
        Bound::Excluded(n) => n,
        Bound::Unbounded => size,
    };
    (start, end)
}

/// Indexing: `t.i(0)`, `t.i(1..3)`, `t.i((.., 2))`, `t.i(&ids)`.
pub trait IndexOp<T> {
    /// The elements that the index selects: a view, unless index tensors are among it.
    ///
    /// # Errors
    /// When there are more indices than dimensions or one is out of range.
    fn i(&self, index: T) -> Result<Tensor>;
}

impl<T: Into<TensorIndexer>> IndexOp<T> for Tensor {
    #[track_caller]
    fn i(&self, index: T) -> Result<Tensor> {
        self.index(&[index.into()])
    }
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),+)),*) => {
        $(impl<$($name: Into<TensorIndexer>),+> IndexOp<($($name,)+)> for Tensor {
            #[track_caller]
            fn i(&self, index: ($($name,)+)) -> Result<Tensor> {
                self.index(&[$(index.$i.into()),+])
            }
        })*
    };
}
tuples!((A 0), (A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, E 3), (A 0, B 1, C 2, E 3, F 4));
tuples!((A 0, B 1, C 2, E 3, F 4, G 5), (A 0, B 1, C 2, E 3, F 4, G 5, H 6));
