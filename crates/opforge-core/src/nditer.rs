//! Several layouts of one shape walked together, for programs that write their own loops over storages.

use crate::{Layout, MAX_RANK};
use smallvec::SmallVec;

/// The most dimensions that an [`NdIter`] takes: those that a layout can have.
pub const MAX_DIMS: usize = MAX_RANK;

/// Goes over layouts of one shape in row-major order, a row at a time: yields the storage index of the row's first element for each layout. Dimensions that
/// lie in all layouts as one are walked as one, so that rows are as long as they can be.
///
/// ```
/// # use opforge_core::{Layout, NdIter};
/// let (rows, columns) = (Layout::contiguous((2, 3)), Layout::contiguous((3, 2)).transpose(0, 1).unwrap());
/// let (a, b, mut product) = ([1, 2, 3, 4, 5, 6], [1, 0, 0, 1, 1, 1], vec![]);
/// let rows = NdIter::new([&rows, &columns]);
/// let (len, [stride_a, stride_b]) = (rows.inner_size, rows.inner_strides);
/// for [at_a, at_b] in rows {
///     product.extend((0..len).map(|i| a[at_a + i * stride_a] * b[at_b + i * stride_b]));
/// }
/// assert_eq!(product, [1, 0, 3, 0, 5, 6]);
/// ```
#[derive(Debug, Clone)]
pub struct NdIter<const N: usize> {
    /// The number of elements in a row.
    pub inner_size: usize,
    /// How far apart they are in each layout, in elements: 1 where they lie next to each other, 0 where one is repeated.
    pub inner_strides: [usize; N],
    /// The dimensions around the rows, outermost first.
    outer: SmallVec<[Walked<N>; 6]>,
    offsets: [usize; N],
    left: usize,
}

/// A dimension of all layouts.
#[derive(Debug, Clone, Copy)]
struct Walked<const N: usize> {
    len: usize,
    strides: [usize; N],
    at: usize,
}

impl<const N: usize> NdIter<N> {
    /// Goes over these layouts.
    ///
    /// # Panics
    /// When their shapes differ.
    pub fn new(layouts: [&Layout; N]) -> Self {
        let dims = layouts.first().map_or(&[][..], |layout| layout.dims());
        for layout in &layouts {
            assert_eq!(layout.dims(), dims, "NdIter takes layouts of one shape");
        }
        let mut outer = SmallVec::<[Walked<N>; 6]>::new();
        for (d, &len) in dims.iter().enumerate().filter(|(_, len)| **len != 1) {
            let strides = layouts.map(|layout| layout.stride()[d]);
            match outer.last_mut().filter(|last| (0..N).all(|n| last.strides[n] == len.saturating_mul(strides[n]))) {
                Some(last) => *last = Walked { len: last.len * len, strides, at: 0 },
                None => outer.push(Walked { len, strides, at: 0 }),
            }
        }
        let rows = outer.pop().unwrap_or(Walked { len: 1, strides: [1; N], at: 0 });
        let is_empty = dims.contains(&0);
        NdIter {
            inner_size: if is_empty { 0 } else { rows.len },
            inner_strides: rows.strides,
            left: if is_empty { 0 } else { outer.iter().map(|dim| dim.len).product() },
            outer,
            offsets: layouts.map(Layout::start_offset),
        }
    }
}

impl<const N: usize> Iterator for NdIter<N> {
    type Item = [usize; N];

    fn next(&mut self) -> Option<[usize; N]> {
        self.left = self.left.checked_sub(1)?;
        let current = self.offsets;
        for dim in self.outer.iter_mut().rev() {
            dim.at += 1;
            let done = dim.at == dim.len;
            for (offset, stride) in self.offsets.iter_mut().zip(dim.strides) {
                *offset = if done { *offset - (dim.len - 1) * stride } else { *offset + stride };
            }
            if !done {
                break;
            }
            dim.at = 0;
        }
        Some(current)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<const N: usize> ExactSizeIterator for NdIter<N> {}
impl<const N: usize> std::iter::FusedIterator for NdIter<N> {}
