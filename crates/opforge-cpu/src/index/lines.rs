//! Elements of lines: rows whose indices lie one after the other, as does the output, and name elements of one line of the input.

use opforge_core::IntDType;

use super::ids::{Ids, each_position};
use crate::copy::{Axis, Nest};

/// Copies elements of a line: `n` indices, the line with its length and the step between its elements, the destination. False if an index is out of
/// range.
pub(super) type CopyLine = unsafe fn(*const u8, usize, *const u8, usize, isize, *mut u8) -> bool;

/// Copies elements of so many lines, one after the other: their indices, the first line and the destination. False if an index is out of range.
pub(super) type CopyLines = unsafe fn(&Lines, usize, *const u8, *const u8, *mut u8) -> bool;

/// Indices of a line up to which a loop walks many lines: with more, what is done once a line does not matter.
pub(super) const LONGEST: usize = 64;

/// Lines at equal distances.
pub(super) struct Lines {
    /// Indices of a line, and its elements with the bytes between them.
    pub n: usize,
    pub len: usize,
    pub step: isize,
    /// The bytes from line to line: of indices, of what is read, of what is written.
    pub apart: [isize; 3],
}

impl Lines {
    /// Calls `body` with the place of each line's indices, of what is read and of what is written, until it is false.
    #[inline(always)]
    pub fn all(&self, count: usize, mut body: impl FnMut([isize; 3]) -> bool) -> bool {
        (0..count as isize).all(|line| body(self.apart.map(|bytes| line * bytes)))
    }
}

/// The loop for a row whose indices lie one after the other, as does the output, and name elements of one line.
pub(super) fn line(ids: &Ids, row: &Axis<3>, size: usize) -> Option<CopyLine> {
    let contiguous = row.step == [ids.size() as isize, 0, size as isize];
    let (long, short) = by_size!(size, T => (copy_line::<i64, T> as CopyLine, copy_line::<u32, T> as CopyLine));
    ids.direct(long, short).filter(|_| contiguous)
}

/// The loop for one loop around short rows whose indices lie one after the other, as does the output, and name elements of one line.
pub(super) fn lines(ids: &Ids, nest: &Nest<3>, size: usize) -> Option<CopyLines> {
    let [_, row] = &nest.axes[..] else { return None };
    let fits = row.step == [ids.size() as isize, 0, size as isize] && row.len <= LONGEST && ids.len() > 0;
    let (long, short) = by_size!(size, T => (copy_lines::<i64, T> as CopyLines, copy_lines::<u32, T> as CopyLines));
    ids.direct(long, short).filter(|_| fits)
}

/// # Safety
/// For each line `n` contiguous indices are readable and `n` elements writable, and the line has an element at each of its steps, one at least.
unsafe fn copy_lines<I: IntDType, T: Copy>(
    lines: &Lines,
    count: usize,
    ids: *const u8,
    src: *const u8,
    dst: *mut u8,
) -> bool {
    let &Lines { n, len, step, apart } = lines;
    let mut ok = true;
    for line in 0..count as isize {
        let (ids, src) = (ids.wrapping_offset(line * apart[0]).cast::<I>(), src.wrapping_offset(line * apart[1]));
        let dst = dst.wrapping_offset(line * apart[2]).cast::<T>();
        for i in 0..n {
            // SAFETY: `i` is below `n`, and the place within the line. Volatile: others may write to indices meanwhile, and what is checked must be what is
            // used. Below zero an index is larger than any length.
            unsafe {
                let place = ids.add(i).read_volatile().as_usize();
                ok &= place < len;
                let place = if place < len { place } else { 0 };
                dst.add(i).write_unaligned(src.offset(place as isize * step).cast::<T>().read_unaligned());
            }
        }
    }
    ok
}

/// # Safety
/// `n` contiguous indices are readable, a line of `len` elements `step` bytes apart at `src` too, and `n` elements are writable at `dst`.
unsafe fn copy_line<I: IntDType, T: Copy>(
    ids: *const u8,
    n: usize,
    src: *const u8,
    len: usize,
    step: isize,
    dst: *mut u8,
) -> bool {
    let dst = dst.cast::<T>();
    // SAFETY: `each_position` gives `i` below `n` and `at` below `len`, the elements of `dst` and of the line.
    unsafe {
        if step == size_of::<T>() as isize {
            let line = src.cast::<T>();
            return each_position::<I>(ids, n, len, |i, at| {
                dst.add(i).write_unaligned(line.add(at).read_unaligned());
            });
        }
        each_position::<I>(ids, n, len, |i, at| {
            dst.add(i).write_unaligned(src.offset(at as isize * step).cast::<T>().read_unaligned());
        })
    }
}
