//! How to copy between two layouts, decided from their strides.

use std::ops::Range;

use opforge_core::Meta;
use opforge_runtime::parallel::{num_threads, parallel_for};

use super::far;
use super::row::{self, CopyRow, Rows};
use super::run::SHORT_RUN;
use super::transpose::Transpose;

use super::{Axis, Nest, byte_steps};

/// Bytes that a thread moves at a time; less than twice as much is not worth sharing.
pub(super) const CHUNK: usize = 256 << 10;

/// A transposed axis of at most this many elements, which fills no tile, is a loop around the other one.
const THIN: usize = 4;

/// A row of at most this many elements is a loop around that of the rows.
const SHORT_ROW: usize = 8;

/// Rows of one element that are filled rather than transposed have this many bytes at least.
const FILLED: usize = 64;

/// Runs of at most this many bytes are transposed as single elements where they are as long as one.
const WIDEST_ELEMENT: usize = 16;

/// How to copy between two layouts, decided from their strides.
pub(crate) struct Plan {
    /// Where the loops start, from the input's and the output's pointers: an axis that is walked backwards starts at its end.
    start: [isize; 2],
    bytes: usize,
    /// Whether what is written goes past the caches.
    is_far: bool,
    loops: Loops,
}

enum Loops {
    Empty,
    /// Both sides are one run.
    Flat,
    /// Runs of `bytes` that are contiguous on both sides.
    Runs {
        nest: Nest<2>,
        bytes: usize,
    },
    /// Rows of short runs, or of single elements.
    Rows(Rows),
    /// Contiguous along one axis here, along another there.
    Transpose(Transpose),
}

impl Plan {
    /// The plan for equal shapes and dtypes, the input mirrored along `flipped`.
    pub fn new(input: &Meta, output: &Meta, flipped: &[usize]) -> Self {
        let size = input.dtype.size_in_bytes();
        let (bytes, mut start) = (input.elem_count() * size, [0; 2]);
        let loops = match bytes {
            0 => Loops::Empty,
            _ if flipped.is_empty() => Loops::new(Nest::new(input, output), size, bytes, &mut start),
            _ => Loops::new(mirrored(input, output, flipped, &mut start), size, bytes, &mut start),
        };
        Plan { start, bytes, is_far: bytes >= far::FAR, loops }
    }

    /// The plan for a part of an output of so many bytes.
    pub fn within(self, bytes: usize) -> Self {
        Plan { is_far: bytes >= far::FAR, ..self }
    }

    /// Nanoseconds on one core.
    pub fn cost(&self) -> u64 {
        let per_ns = match &self.loops {
            Loops::Empty | Loops::Flat => 16,
            Loops::Runs { .. } | Loops::Transpose(_) => 8,
            Loops::Rows(rows) => rows.copy.bytes().clamp(2, 8),
        };
        5 + (self.bytes / per_ns) as u64
    }

    /// Copies.
    ///
    /// # Safety
    /// `src` and `dst` point to the first elements of tensors of the layouts the plan was made for, readable and writable; they do not overlap,
    /// unless they are the same tensor.
    #[inline]
    pub unsafe fn run(&self, src: *const u8, dst: *mut u8) {
        let (src, dst) = (src.wrapping_offset(self.start[0]), dst.wrapping_offset(self.start[1]));
        // SAFETY: each arm touches only what the loops span, which is what the layouts span.
        unsafe {
            match &self.loops {
                Loops::Empty => {}
                Loops::Flat => copy_flat(src, dst, self.bytes, self.is_far),
                Loops::Runs { nest, bytes } => {
                    let copy = if self.is_far && *bytes >= far::RUN { far::copy } else { copy_run };
                    let (src, dst) = (Shared(src), Shared(dst));
                    share(nest.count(), *bytes, |range| {
                        nest.for_each(range, |[s, d]| copy(src.get().offset(s), dst.get().offset(d), *bytes));
                        far::finish();
                    });
                }
                Loops::Rows(rows) => rows.run(src, dst),
                Loops::Transpose(t) => t.run(src, dst),
            }
        }
    }
}

/// The loops over two layouts of equal shape, the first read backwards along `flipped`: from `start` on, which is moved to the ends there.
fn mirrored(input: &Meta, output: &Meta, flipped: &[usize], start: &mut [isize; 2]) -> Nest<2> {
    let axes = input.dims().iter().zip(byte_steps(input).zip(byte_steps(output))).enumerate();
    Nest::collapse(axes.map(|(axis, (&len, (src, dst)))| {
        if !flipped.contains(&axis) {
            return Axis { len, step: [src, dst] };
        }
        start[0] += (len - 1) as isize * src;
        Axis { len, step: [-src, dst] }
    }))
}

impl Loops {
    /// `start` is where the nest starts; it moves with an axis that is turned around.
    fn new(mut nest: Nest<2>, mut size: usize, bytes: usize, start: &mut [isize; 2]) -> Self {
        let Some(mut row) = nest.axes.pop() else { return Loops::Flat };
        if row.step == [size as isize; 2] {
            let run = row.len * size;
            if run == bytes {
                return Loops::Flat;
            }
            if run > SHORT_RUN {
                nest.axes.iter_mut().for_each(|axis| *axis = forwards(*axis, start));
                return Loops::Runs { nest, bytes: run };
            }
            (size, row) = (run, nest.axes.pop().expect("a run shorter than the whole has loops around it"));
        }
        if size <= WIDEST_ELEMENT
            && size.is_power_of_two()
            && let Some(loops) = Loops::of_elements(&mut nest, row, size, start)
        {
            return loops;
        }
        let around = nest.axes.last().is_some_and(|rows| row.len <= SHORT_ROW && row.len < rows.len).then_some(row);
        let row = if around.is_some() { nest.axes.pop().unwrap_or(row) } else { row };
        Loops::Rows(Rows::new(nest, around, row, CopyRow::new(&row, size)))
    }

    /// The loops around rows of elements that are mirrored, repeated or transposed.
    fn of_elements(nest: &mut Nest<2>, row: Axis<2>, size: usize, start: &mut [isize; 2]) -> Option<Self> {
        let unit = size as isize;
        let rows =
            |nest: &mut Nest<2>, around, row, copy| Loops::Rows(Rows::new(std::mem::take(nest), around, row, copy));
        if let Some(copy) = nest.axes.last().and_then(|rows| row::mirrored(&row, rows, size)) {
            let long = nest.axes.pop()?;
            return Some(rows(nest, None, long, copy));
        }
        // A long row of one element is filled.
        let fills = row.step[0] == 0 && row.len * size >= FILLED;
        let is_column = |a: &Axis<2>| row.step[1] == unit && a.step[0].abs() == unit;
        let column = nest.axes.iter().position(is_column).filter(|_| !fills)?;
        let column = forwards(nest.axes.remove(column), start);
        if let Some(copy) = row::repeated(&row, &column, size) {
            return Some(rows(nest, None, column, copy));
        }
        if column.len > THIN && row.len > THIN {
            return Some(Loops::Transpose(Transpose::new(std::mem::take(nest), column, row, size)));
        }
        let (thin, long) = if row.len <= THIN { (row, column) } else { (column, row) };
        Some(rows(nest, Some(thin), long, CopyRow::new(&long, size)))
    }
}

/// The axis with the source read forwards, as memory expects it and tiles are transposed: it is the destination that is walked backwards then.
fn forwards(axis: Axis<2>, start: &mut [isize; 2]) -> Axis<2> {
    if axis.step[0] >= 0 {
        return axis;
    }
    let last = (axis.len - 1) as isize;
    start.iter_mut().zip(axis.step).for_each(|(start, step)| *start += last * step);
    Axis { len: axis.len, step: axis.step.map(|step| -step) }
}

/// A pointer that threads may share; the loops give each its own elements.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub T);
// SAFETY: a pointer is a number; whoever dereferences it answers for races.
unsafe impl<T> Send for Shared<*const T> {}
// SAFETY: a pointer is a number; whoever dereferences it answers for races.
unsafe impl<T> Sync for Shared<*const T> {}
// SAFETY: a pointer is a number; whoever dereferences it answers for races.
unsafe impl<T> Send for Shared<*mut T> {}
// SAFETY: a pointer is a number; whoever dereferences it answers for races.
unsafe impl<T> Sync for Shared<*mut T> {}

impl<T: Copy> Shared<T> {
    /// The pointer; a method, so that closures capture the whole.
    #[inline(always)]
    pub fn get(self) -> T {
        self.0
    }
}

/// Shares `count` steps, of `bytes` each, among threads where they are enough.
#[inline(always)]
pub(super) fn share(count: usize, bytes: usize, work: impl Fn(Range<usize>) + Sync) {
    let chunks = count.saturating_mul(bytes) / CHUNK;
    if chunks < 2 {
        return work(0..count);
    }
    // As many for each thread: of three chunks one of two threads would have two.
    parallel_for(count, count.div_ceil(chunks.next_multiple_of(num_threads())), work);
}

/// # Safety
/// As [`copy_run`].
#[inline]
unsafe fn copy_flat(src: *const u8, dst: *mut u8, bytes: usize, is_far: bool) {
    if bytes < 2 * CHUNK || src == dst {
        // SAFETY: the run is as `copy_run` asks: apart, or one and the same.
        return unsafe { copy_run(src, dst, bytes) };
    }
    let (src, dst) = (Shared(src), Shared(dst));
    parallel_for(bytes, CHUNK, |range| {
        let copy = if is_far { far::copy } else { copy_run };
        // SAFETY: the ranges are disjoint parts of the run, whose sides are apart.
        unsafe { copy(src.get().add(range.start), dst.get().add(range.start), range.len()) };
        far::finish();
    });
}

/// Copies bytes. Long runs to addresses of another alignment go in pieces: from 4 KiB on the C library leaves them to an instruction (`rep movsb`)
/// that is slow then on some processors.
///
/// # Safety
/// `src` is readable and `dst` writable for `bytes`; they are apart or the same.
#[inline]
pub(crate) unsafe fn copy_run(src: *const u8, dst: *mut u8, bytes: usize) {
    /// What vectors are aligned to, and the length of a piece.
    const ALIGNED: usize = 64;
    const PIECE: usize = 2048;
    // SAFETY: pieces are parts of the run; they are copied only between unequal addresses, where the sides do not overlap.
    unsafe {
        if bytes <= PIECE || (src.addr() ^ dst.addr()).is_multiple_of(ALIGNED) {
            return std::ptr::copy(src, dst, bytes);
        }
        for start in (0..bytes).step_by(PIECE) {
            std::ptr::copy_nonoverlapping(src.add(start), dst.add(start), PIECE.min(bytes - start));
        }
    }
}
