//! A layout as runs of consecutive storage elements, for programs that walk over storages themselves.

use crate::Layout;
use smallvec::SmallVec;

/// The storage index of every element in row-major order.
#[derive(Debug, Clone)]
pub struct StridedIndex<'a> {
    dims: &'a [usize],
    stride: &'a [usize],
    at: SmallVec<[usize; 6]>,
    left: usize,
    index: usize,
}

impl<'a> StridedIndex<'a> {
    fn new(dims: &'a [usize], stride: &'a [usize], offset: usize) -> Self {
        StridedIndex {
            dims,
            stride,
            at: SmallVec::from_elem(0, dims.len()),
            left: dims.iter().product(),
            index: offset,
        }
    }
}

impl Iterator for StridedIndex<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let current = self.index;
        for d in (0..self.at.len()).rev() {
            self.at[d] += 1;
            self.index += self.stride[d];
            if self.at[d] < self.dims[d] {
                break;
            }
            self.index -= self.at[d] * self.stride[d];
            self.at[d] = 0;
        }
        Some(current)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for StridedIndex<'_> {}

/// The elements of a layout in row-major order, as runs.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum StridedBlocks<'a> {
    /// One run of `len` elements.
    SingleBlock { start_offset: usize, len: usize },
    /// `count` runs of `block_len` elements, whose beginnings are `src_stride` apart.
    UniformBlocks { start_offset: usize, block_len: usize, count: usize, src_stride: usize },
    /// Runs of `block_len` elements that begin at these indices.
    MultipleBlocks { block_start_index: StridedIndex<'a>, block_len: usize },
}

impl Layout {
    /// The storage index of every element in row-major order.
    pub fn indices(&self) -> StridedIndex<'_> {
        StridedIndex::new(self.dims(), self.stride(), self.start_offset())
    }

    /// As [`Layout::indices`].
    pub fn strided_index(&self) -> StridedIndex<'_> {
        self.indices()
    }

    /// The longest runs of consecutive storage elements that are consecutive in row-major order too.
    pub fn strided_blocks(&self) -> StridedBlocks<'_> {
        let (mut block_len, mut outer) = (1, self.rank());
        while outer > 0 && (self.stride()[outer - 1] == block_len || self.dims()[outer - 1] == 1) {
            outer -= 1;
            block_len *= self.dims()[outer];
        }
        let (dims, stride) = (&self.dims()[..outer], &self.stride()[..outer]);
        match (dims, stride) {
            _ if self.elem_count() == 0 => StridedBlocks::SingleBlock { start_offset: self.start_offset(), len: 0 },
            ([], _) => StridedBlocks::SingleBlock { start_offset: self.start_offset(), len: block_len },
            (&[count], &[src_stride]) => {
                StridedBlocks::UniformBlocks { start_offset: self.start_offset(), block_len, count, src_stride }
            }
            _ => {
                let block_start_index = StridedIndex::new(dims, stride, self.start_offset());
                StridedBlocks::MultipleBlocks { block_start_index, block_len }
            }
        }
    }
}
