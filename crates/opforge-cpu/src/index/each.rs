//! Elements and short runs that have an index each, in lines: rows of them side by side.

use std::ops::Range;

use opforge_core::IntDType;

use super::ids::{BATCH, Batch, Ids, SKIP, each_position};
use crate::copy::run::{Run, by_run};
use crate::copy::{Axis, Nest};
use crate::memory::prefetch;

/// Bytes of a part of which the size is free.
const BLOCK: usize = 16 << 10;
/// Bytes of a line from which on the next is asked for ahead.
const FAR: usize = 256;

/// How elements are copied that have an index each: a part of a line at a time, or several lines.
pub(super) struct Each {
    /// The loop over lines.
    around: Axis<3>,
    /// The loop along one.
    line: Axis<3>,
    /// Lines of a part, and elements of each of them.
    lines: usize,
    n: usize,
    size: usize,
    axis_step: isize,
    /// Bytes of the next line that are asked for ahead.
    ahead: usize,
    copy: Copy,
}

enum Copy {
    /// From indices that lie one after the other along a line, where each is read and checked just before it is used.
    Direct(Direct),
    /// From positions that were read before: some for each line of a part, or the same for all.
    Batch { copy: FromBatch, shared: bool },
}

/// Copies so many elements of each of so many lines, the axis being so long; indices, source and destination. False if an index is out of range.
type Direct = unsafe fn(&Each, [usize; 2], usize, *const u8, *const u8, *mut u8) -> bool;

/// Copies elements of so many lines at their positions.
type FromBatch = unsafe fn(&Each, usize, Positions<'_>, *const u8, *mut u8);

/// Positions for each of `n` elements of a line.
#[derive(Clone, Copy)]
struct Positions<'a> {
    ids: &'a [usize],
    n: usize,
    shared: bool,
}

impl Each {
    /// The copy for the innermost loop `line` of `size` bytes each; it takes over that around it, if several of its lines can be copied at a time.
    pub fn new(ids: &Ids, nest: &mut Nest<3>, line: Axis<3>, axis_step: isize, size: usize) -> Self {
        let shares = |a: &Axis<3>| a.step[0] == 0 && line.len <= BATCH;
        let follows = |a: &Axis<3>| a.step[0] == line.step[0] * line.len as isize && line.len <= BATCH / 2;
        let direct = by_run!(size, R => ids.direct(direct::<i64, R> as Direct, direct::<u32, R>));
        let direct = direct.filter(|_| line.step[0] == ids.size() as isize && !nest.axes.last().is_some_and(shares));
        let joins = nest.axes.last().is_some_and(|a| direct.is_some() || shares(a) || follows(a));
        let around = if joins { nest.axes.pop() } else { None }.unwrap_or(Axis { len: 1, step: [0; 3] });
        let shared = shares(&around);
        let (longest, most) = match direct {
            Some(_) => (BLOCK / size, BLOCK / (line.len * size).max(1)),
            None if shared => (BATCH, BLOCK / (line.len * size).max(1)),
            None => (BATCH, BATCH / line.len.max(1)),
        };
        let copy =
            direct.map_or_else(|| Copy::Batch { copy: by_run!(size, R => from_batch::<R>), shared }, Copy::Direct);
        // Most of a line's memory is needed, in an order that no processor foresees.
        let whole = ids.len().saturating_mul(size);
        let needed = axis_step == size as isize && whole <= prefetch::RUN && line.len >= whole / 64;
        Each {
            around,
            line,
            lines: most.clamp(1, around.len.max(1)),
            n: line.len.clamp(1, longest),
            size,
            axis_step,
            ahead: if needed && whole >= FAR { whole } else { 0 },
            copy,
        }
    }

    /// Parts of each step of the loops around the lines.
    pub fn parts(&self) -> usize {
        self.around.len.div_ceil(self.lines) * self.line.len.div_ceil(self.n)
    }

    /// Bytes that a part writes, at most.
    pub fn part_bytes(&self) -> usize {
        self.lines * self.n * self.size
    }

    /// Copies parts; false if an index is out of range.
    ///
    /// # Safety
    /// The pointers are to the first elements of the tensors that this was made for, with these indices and loops around it.
    pub unsafe fn run(
        &self,
        ids: &Ids,
        nest: &Nest<3>,
        inputs: [*const u8; 2],
        output: *mut u8,
        range: Range<usize>,
    ) -> bool {
        let (mut batch, mut ok) = (Batch::new(), true);
        let along = self.line.len.div_ceil(self.n);
        nest.for_each_part(self.parts(), range, |offset, part| {
            let (first, from) = (part / along * self.lines, part % along * self.n);
            let (count, n) = (self.lines.min(self.around.len - first), self.n.min(self.line.len - from));
            let at = |t: usize| offset[t] + first as isize * self.around.step[t] + from as isize * self.line.step[t];
            // SAFETY: offsets are within the tensors; a batch has room for the indices of a part, which follow each other.
            unsafe {
                let (at, src, dst) = (inputs[1].offset(at(0)), inputs[0].wrapping_offset(at(1)), output.offset(at(2)));
                ok &= match self.copy {
                    Copy::Direct(copy) => copy(self, [count, n], ids.len(), at, src, dst),
                    Copy::Batch { copy, shared } => {
                        let read = ids.read(at, self.line.step[0], if shared { n } else { n * count }, &mut batch);
                        read.map(|ids| copy(self, count, Positions { ids, n, shared }, src, dst)).is_some()
                    }
                };
            }
        });
        ok
    }

    /// Calls `body` with the bytes to each of some lines, of what is read and of what is written, until it is false.
    #[inline(always)]
    fn each_line(
        &self,
        count: usize,
        src: *const u8,
        dst: *mut u8,
        mut body: impl FnMut(usize, *const u8, *mut u8) -> bool,
    ) -> bool {
        let [_, from, to] = self.around.step;
        for line in 0..count {
            let src = src.wrapping_offset(line as isize * from);
            prefetch::prefetch(src.wrapping_offset(from), self.ahead);
            if !body(line, src, dst.wrapping_offset(line as isize * to)) {
                return false;
            }
        }
        true
    }

    /// Whether a line's positions count elements of `R` side by side, and so are written.
    #[inline(always)]
    fn is_dense<R: Run>(&self) -> bool {
        let size = R::BYTES as isize;
        size > 0 && [self.line.step[1], self.line.step[2], self.axis_step] == [0, size, size]
    }
}

/// Copies an element: its number along the line and its position; the source, its steps along the line and the axis; the destination and its step;
/// the bytes of an element.
///
/// # Safety
/// The source has an element there, and so has the destination; `R` is for their size.
#[inline(always)]
unsafe fn copy_one<R: Run>(
    [i, id]: [usize; 2],
    (src, src_step, axis_step): (*const u8, isize, isize),
    (dst, dst_step): (*mut u8, isize),
    bytes: usize,
) {
    let from = src.wrapping_offset(i as isize * src_step).wrapping_offset((id as isize).wrapping_mul(axis_step));
    // SAFETY: both sides have an element of the length that `R` is for, as this function demands.
    unsafe { R::copy(from, dst.offset(i as isize * dst_step), bytes) }
}

/// # Safety
/// For each line `n` contiguous indices are readable, the source is at every place of the axis, and the destination is writable for `n` elements. `R` is
/// for their size.
unsafe fn direct<I: IntDType, R: Run>(
    each: &Each,
    [count, n]: [usize; 2],
    len: usize,
    ids: *const u8,
    src: *const u8,
    dst: *mut u8,
) -> bool {
    let (size, [_, src_step, dst_step]) = (R::BYTES as isize, each.line.step);
    let is_dense = each.is_dense::<R>();
    each.each_line(count, src, dst, |line, src, dst| {
        let ids = ids.wrapping_offset(line as isize * each.around.step[0]);
        // SAFETY: `each_position` gives numbers below `n` and positions below `len`, for which both sides have elements.
        unsafe {
            match is_dense {
                true => each_position::<I>(ids, n, len, |i, id| {
                    copy_one::<R>([i, id], (src, 0, size), (dst, size), R::BYTES)
                }),
                false => each_position::<I>(ids, n, len, |i, id| {
                    copy_one::<R>([i, id], (src, src_step, each.axis_step), (dst, dst_step), each.size)
                }),
            }
        }
    })
}

/// # Safety
/// Positions are [`SKIP`] or within the axis, of which `src` is readable at every element; `dst` is writable for an element for each. `R` is for their
/// size.
unsafe fn from_batch<R: Run>(each: &Each, count: usize, at: Positions<'_>, src: *const u8, dst: *mut u8) {
    let (size, [_, src_step, dst_step]) = (R::BYTES as isize, each.line.step);
    let is_dense = each.is_dense::<R>();
    each.each_line(count, src, dst, |line, src, dst| {
        let ids = if at.shared { at.ids } else { &at.ids[line * at.n..][..at.n] };
        // SAFETY: the line has an element for each position.
        unsafe {
            match is_dense {
                true => copy_line::<R>(ids, (src, 0, size), (dst, size), R::BYTES),
                false => copy_line::<R>(ids, (src, src_step, each.axis_step), (dst, dst_step), each.size),
            }
        }
        true
    });
}

/// [`copy_one`] of each element of a line, or zeros.
///
/// # Safety
/// As [`from_batch`].
#[inline(always)]
unsafe fn copy_line<R: Run>(ids: &[usize], src: (*const u8, isize, isize), dst: (*mut u8, isize), bytes: usize) {
    let one = |i: usize, id: usize| {
        // SAFETY: the position is within the axis, unless it is SKIP; `dst` has an element for it.
        unsafe {
            match id {
                SKIP => R::clear(dst.0.offset(i as isize * dst.1), bytes),
                _ => copy_one::<R>([i, id], src, dst, bytes),
            }
        }
    };
    let (fours, rest) = ids.as_chunks::<4>();
    for (at, four) in fours.iter().enumerate() {
        four.iter().enumerate().for_each(|(i, &id)| one(4 * at + i, id));
    }
    rest.iter().enumerate().for_each(|(i, &id)| one(4 * fours.len() + i, id));
}
