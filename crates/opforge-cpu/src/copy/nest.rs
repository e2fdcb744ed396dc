//! Nested loops over several tensors at once, by steps in bytes.

use std::ops::Range;

use opforge_core::Meta;
use smallvec::SmallVec;

/// One loop over `N` tensors: `len` iterations, each of which moves tensor `t` by `step[t]` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis<const N: usize> {
    pub len: usize,
    pub step: [isize; N],
}

/// Nested loops over `N` tensors, outermost first. The last tensor is the one written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nest<const N: usize> {
    pub axes: SmallVec<[Axis<N>; 4]>,
}

/// The steps of a tensor's dimensions in bytes.
pub(crate) fn byte_steps(meta: &Meta) -> impl Iterator<Item = isize> + Clone {
    let size = meta.dtype.size_in_bytes();
    meta.layout.stride().iter().map(move |&s| (s * size) as isize)
}

impl Nest<2> {
    /// The loops over two layouts of equal shape, collapsed; those of length 1 are dropped.
    pub fn new(input: &Meta, output: &Meta) -> Self {
        let steps = byte_steps(input).zip(byte_steps(output));
        Self::collapse(input.dims().iter().zip(steps).map(|(&len, (src, dst))| Axis { len, step: [src, dst] }))
    }
}

impl<const N: usize> Nest<N> {
    /// Orders the loops so that the last tensor is walked as sequentially as can be, and joins those that act as one.
    pub fn collapse(axes: impl Iterator<Item = Axis<N>>) -> Self {
        let mut sorted: SmallVec<[Axis<N>; 6]> = axes.filter(|a| a.len != 1).collect();
        sorted.sort_by_key(|a| {
            let mut key = a.step.map(isize::unsigned_abs);
            key.reverse();
            std::cmp::Reverse(key)
        });
        let mut axes: SmallVec<[Axis<N>; 4]> = SmallVec::new();
        for inner in sorted {
            match axes.last_mut() {
                Some(outer) if outer.step == inner.step.map(|s| s * inner.len as isize) => {
                    *outer = Axis { len: outer.len * inner.len, ..inner };
                }
                _ => axes.push(inner),
            }
        }
        Nest { axes }
    }

    /// The number of innermost iterations.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|a| a.len).product()
    }

    /// Calls `body` with the tensors' byte offsets for each of the iterations `range`, in order.
    #[inline(always)]
    pub fn for_each(&self, range: Range<usize>, mut body: impl FnMut([isize; N])) {
        let Some((inner, outer)) = self.axes.split_last() else {
            return range.for_each(|_| body([0; N]));
        };
        let mut at = range.start;
        while at < range.end {
            let first = at % inner.len;
            let mut offset = inner.step.map(|s| s * first as isize);
            let mut rest = at / inner.len;
            for axis in outer.iter().rev() {
                advance(&mut offset, axis.step, rest % axis.len);
                rest /= axis.len;
            }
            let iterations = (inner.len - first).min(range.end - at);
            for _ in 0..iterations {
                body(offset);
                advance(&mut offset, inner.step, 1);
            }
            at += iterations;
        }
    }

    /// As [`Self::for_each`], where every iteration has `parts` parts: `range` counts parts, `body` also gets the part.
    #[inline(always)]
    pub fn for_each_part(&self, parts: usize, range: Range<usize>, mut body: impl FnMut([isize; N], usize)) {
        if range.is_empty() {
            return;
        }
        let (mut first, mut left) = (range.start % parts, range.len());
        self.for_each(range.start / parts..range.end.div_ceil(parts), |offset| {
            let end = parts.min(first + left);
            (first..end).for_each(|part| body(offset, part));
            (first, left) = (0, left - (end - first));
        });
    }
}

#[inline(always)]
fn advance<const N: usize>(offset: &mut [isize; N], step: [isize; N], times: usize) {
    for (o, s) in offset.iter_mut().zip(step) {
        *o += s * times as isize;
    }
}
