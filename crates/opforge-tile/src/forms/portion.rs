//! Parts of tensors and of axes.

use std::ops::Range;

use opforge_core::Shape;

/// A part of a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Portion {
    /// The shape of the whole.
    pub whole: Shape,
    /// The part: a range along each dimension.
    pub ranges: Vec<Range<usize>>,
}

impl Portion {
    /// Whether it is all of the tensor.
    pub fn is_whole(&self) -> bool {
        self.ranges.iter().zip(self.whole.dims()).all(|(range, &length)| *range == (0..length))
    }

    /// The part along a dimension; none where that is all of it.
    pub fn segment(&self, dim: usize) -> Option<Segment> {
        let (range, whole) = (self.ranges.get(dim)?, *self.whole.dims().get(dim)?);
        (*range != (0..whole)).then_some(Segment { start: range.start, whole })
    }
}

/// Where an axis lies within a longer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Its first place there.
    pub start: usize,
    /// The length of the longer one.
    pub whole: usize,
}
