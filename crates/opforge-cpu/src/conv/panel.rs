//! Packing what a slab holds into the panels that micro-kernels read: the matrix of a convolution ("im2col"), never made as a whole.

use std::slice;

use super::Element;
use super::geometry::Lengths;
use super::slab::Read;
use crate::matmul::{Kernels, Packing};
use crate::simd::{FloatElem, Simd, Vector};

/// Columns of a panel at most: those of the widest micro-kernel.
const WIDEST: usize = 32;
/// Elements after a panel that packing may overwrite.
pub(super) const SLACK: usize = 16;

/// Columns of a panel that lie next to each other in the slab.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    from: usize,
    to: usize,
    len: usize,
}

/// The runs of one panel.
pub(super) struct Runs {
    runs: [Run; WIDEST],
    count: usize,
}

impl Runs {
    fn none() -> Self {
        Runs { runs: [Run::default(); WIDEST], count: 0 }
    }

    #[inline(always)]
    fn push(&mut self, from: usize, to: usize, len: usize) {
        if let Some(last) = self.count.checked_sub(1).map(|i| &mut self.runs[i])
            && last.from + last.len == from
        {
            last.len += len;
            return;
        }
        self.runs[self.count] = Run { from, to, len };
        self.count += 1;
    }

    /// Of `count` targets from the `first` on, of images of `targets` that are `steps.0` apart.
    #[inline(always)]
    pub fn of_targets(first: usize, count: usize, targets: Lengths, steps: (usize, Lengths)) -> Self {
        let (image, steps) = steps;
        let mut runs = Runs::none();
        let mut to = 0;
        while to < count {
            let [a, b, c] = position(first + to, targets);
            let from = a / targets[0] * image + a % targets[0] * steps[0] + b * steps[1] + c * steps[2];
            let len = if steps[2] == 1 { (targets[2] - c).min(count - to) } else { 1 };
            runs.push(from, to, len);
            to += len;
        }
        runs
    }

    /// Of these reads.
    #[inline(always)]
    pub fn of_reads(reads: &[Read]) -> Self {
        let mut runs = Runs::none();
        for (to, read) in reads.iter().enumerate() {
            runs.push(read.at, to, 1);
        }
        runs
    }

    /// Copies the columns from one row of the matrix to `panel`; what follows them there is overwritten, up to [`SLACK`] elements.
    ///
    /// # Safety
    /// The runs are readable from `row`, and the panel writable.
    #[inline(always)]
    pub unsafe fn copy<S: Simd, F: FloatElem>(&self, row: *const F, panel: *mut F) {
        let lanes = <F::Vector<S>>::LANES;
        // SAFETY: a run's elements are readable, its places the panel's; a partial vector's store exceeds them by less than SLACK.
        unsafe {
            for run in &self.runs[..self.count] {
                let (from, to) = (row.add(run.from), panel.add(run.to));
                if run.len == 1 {
                    *to = *from;
                    continue;
                }
                let mut i = 0;
                while i + lanes <= run.len {
                    <F::Vector<S>>::load(from.add(i)).store(to.add(i));
                    i += lanes;
                }
                if i < run.len {
                    <F::Vector<S>>::load_partial(from.add(i), run.len - i).store(to.add(i));
                }
            }
        }
    }
}

impl Runs {
    /// Packs the columns of some rows of the matrix, one after the other, as a product's micro-kernels read them; what follows is overwritten, up to
    /// [`SLACK`] elements.
    ///
    /// # Safety
    /// As [`Runs::copy`], for each row; the panel has so many rows as the packing makes of them, of `width` elements.
    #[inline(always)]
    pub unsafe fn pack<S: Simd, E: Element>(
        &self,
        packing: &Packing<E>,
        rows: impl ExactSizeIterator<Item = *const E::Compute>,
        panel: *mut E::Compute,
        width: usize,
    ) {
        if packing.unit == 1 {
            for (p, row) in rows.enumerate() {
                // SAFETY: the panel has a row for each of the matrix.
                unsafe { self.copy::<S, E::Compute>(row, panel.add(p * width)) };
            }
            return;
        }
        let (depth, mut rows) = (rows.len(), rows);
        let mut pair = [[E::Compute::default(); WIDEST + SLACK]; 2];
        for p in 0..packing.rows(depth) {
            for half in &mut pair {
                match rows.next() {
                    // SAFETY: a half has room for a panel's row, and what is overwritten after it.
                    Some(row) => unsafe { self.copy::<S, E::Compute>(row, half.as_mut_ptr()) },
                    None => half.fill(E::Compute::default()),
                }
            }
            // SAFETY: row `p` of the panel has `width` elements, no more than a half has.
            let to = unsafe { slice::from_raw_parts_mut(panel.add(p * width), width) };
            for (to, (&first, &second)) in to.iter_mut().zip(pair[0].iter().zip(&pair[1])) {
                *to = E::pair(first, second);
            }
        }
    }
}

/// The position with a number in row-major order; along the first dimension it may be one of a further image.
#[inline(always)]
pub(super) fn position(i: usize, lengths: Lengths) -> Lengths {
    let (line, c) = (i / lengths[2], i % lengths[2]);
    [line / lengths[1], line % lengths[1], c]
}

/// Elements that panels of so many packed rows take.
pub(super) fn panels_len<F>(kernels: &Kernels<F>, rows: usize, columns: usize) -> usize {
    rows * columns.next_multiple_of(kernels.width()) + SLACK
}
