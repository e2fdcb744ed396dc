use std::ops::Range;

use opforge_core::Meta;
use smallvec::SmallVec;

/// One loop of a copy: `len` steps that move the source by `src` and the destination by `dst` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub len: usize,
    pub src: isize,
    pub dst: isize,
}

/// Nested loops, outermost first, over a source and a destination.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nest {
    pub axes: SmallVec<[Axis; 4]>,
}

impl Nest {
    /// The loops over two layouts of equal shape, collapsed; those of length 1 are dropped.
    pub fn new(input: &Meta, output: &Meta) -> Self {
        let size = input.dtype.size_in_bytes() as isize;
        let steps = input.layout.stride().iter().zip(output.layout.stride());
        let axes = input.dims().iter().zip(steps);
        Self::collapse(axes.map(|(&len, (&src, &dst))| Axis {
            len,
            src: src as isize * size,
            dst: dst as isize * size,
        }))
    }

    /// Orders the loops so that the destination is walked as sequentially as can be, and joins those that act as one.
    pub fn collapse(axes: impl Iterator<Item = Axis>) -> Self {
        let mut sorted: SmallVec<[Axis; 6]> = axes.filter(|a| a.len != 1).collect();
        sorted.sort_by_key(|a| std::cmp::Reverse((a.dst.unsigned_abs(), a.src.unsigned_abs())));
        let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
        for inner in sorted {
            let len = inner.len as isize;
            match axes.last_mut() {
                Some(outer) if outer.src == inner.src * len && outer.dst == inner.dst * len => {
                    *outer = Axis { len: outer.len * inner.len, ..inner };
                }
                _ => axes.push(inner),
            }
        }
        Nest { axes }
    }

    /// The number of innermost steps.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|a| a.len).product()
    }

    /// Calls `step` with the source's and destination's byte offsets for each of the steps `range`, in order.
    #[inline(always)]
    pub fn for_each(&self, range: Range<usize>, mut step: impl FnMut(isize, isize)) {
        let Some((inner, outer)) = self.axes.split_last() else {
            return range.for_each(|_| step(0, 0));
        };
        let mut at = range.start;
        while at < range.end {
            let first = at % inner.len;
            let (mut src, mut dst) = (first as isize * inner.src, first as isize * inner.dst);
            let mut rest = at / inner.len;
            for axis in outer.iter().rev() {
                let i = (rest % axis.len) as isize;
                rest /= axis.len;
                src += i * axis.src;
                dst += i * axis.dst;
            }
            let steps = (inner.len - first).min(range.end - at);
            for _ in 0..steps {
                step(src, dst);
                src += inner.src;
                dst += inner.dst;
            }
            at += steps;
        }
    }
}
