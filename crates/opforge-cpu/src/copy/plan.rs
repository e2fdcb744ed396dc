//! How to copy between two layouts, decided from their strides.

use opforge_core::Meta;
use opforge_runtime::parallel::{num_threads, parallel_for};

use super::far;
use super::row::{self, CopyRow};
use super::transpose::Transpose;

use super::{Axis, Nest, byte_steps};

/// Bytes that a thread moves at a time; less than twice as much is not worth sharing.
pub(super) const CHUNK: usize = 256 << 10;

/// Bytes of a row of elements that are moved at a time.
const LONG_ROW: usize = 512 << 10;

/// A transposed axis of at most this many elements, which fills no tile, is a loop around the other one.
const THIN: usize = 4;

/// Rows of one element that are filled rather than transposed have this many bytes at least.
const FILLED: usize = 64;

/// Rows of at most this many bytes are moved as single elements where their length is that of one.
const WIDEST_ELEMENT: usize = 16;

/// The longest runs that [`share_short`] copies.
const SHORT_RUN: usize = 64;

/// How to copy between two layouts, decided from their strides.
pub(crate) struct Plan {
    /// Where the loops start, from the input's and the output's pointers: an axis that is walked backwards starts at its end.
    start: [isize; 2],
    bytes: usize,
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
    /// Rows of single elements, of `size` bytes each.
    Rows {
        nest: Nest<2>,
        row: Axis<2>,
        size: usize,
        copy: CopyRow,
    },
    /// Contiguous along one axis here, along another there.
    Transpose(Transpose),
}

impl Plan {
    /// The plan for equal shapes and dtypes, the input mirrored along `flipped`.
    pub fn new(input: &Meta, output: &Meta, flipped: &[usize]) -> Self {
        let size = input.dtype.size_in_bytes();
        let bytes = input.elem_count() * size;
        if bytes == 0 {
            return Plan { start: [0; 2], bytes, loops: Loops::Empty };
        }
        let mut start = [0; 2];
        if flipped.is_empty() {
            let loops = Loops::new(Nest::new(input, output), size, bytes, &mut start);
            return Plan { start, bytes, loops };
        }
        let axes = input.dims().iter().zip(byte_steps(input).zip(byte_steps(output))).enumerate();
        let axes = axes.map(|(axis, (&len, (src, dst)))| {
            if !flipped.contains(&axis) {
                return Axis { len, step: [src, dst] };
            }
            start[0] += (len - 1) as isize * src;
            Axis { len, step: [-src, dst] }
        });
        let nest = Nest::collapse(axes);
        let loops = Loops::new(nest, size, bytes, &mut start);
        Plan { start, bytes, loops }
    }

    /// Nanoseconds on one core.
    pub fn cost(&self) -> u64 {
        let per_ns = match self.loops {
            Loops::Empty | Loops::Flat => 16,
            Loops::Runs { .. } | Loops::Transpose(_) => 8,
            Loops::Rows { .. } => 2,
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
                Loops::Flat => copy_flat(src, dst, self.bytes),
                Loops::Runs { nest, bytes } if *bytes <= SHORT_RUN => share_short(nest, *bytes, src, dst),
                Loops::Runs { nest, bytes } if *bytes >= far::RUN && self.bytes >= far::FAR => {
                    let (src, dst) = (Shared(src), Shared(dst));
                    parallel_for(nest.count(), (CHUNK / bytes).max(1), |range| {
                        nest.for_each(range, |[s, d]| far::copy(src.get().offset(s), dst.get().offset(d), *bytes));
                        far::finish();
                    });
                }
                Loops::Runs { nest, bytes } => share(nest, *bytes, src, dst, |src, dst| {
                    copy_run(src, dst, *bytes);
                }),
                Loops::Rows { nest, row, size, copy } if row.len * size > LONG_ROW => {
                    let (src, dst) = (Shared(src), Shared(dst));
                    let most = LONG_ROW / size;
                    let parts = row.len.div_ceil(most);
                    parallel_for(nest.count() * parts, 1, |range| {
                        nest.for_each_part(parts, range, |offset, part| {
                            let first = part * most;
                            let at = |t: usize| offset[t] + first as isize * row.step[t];
                            let row = Axis { len: most.min(row.len - first), ..*row };
                            copy(src.get().offset(at(0)), dst.get().offset(at(1)), row);
                        });
                    });
                }
                Loops::Rows { nest, row, copy, .. } => {
                    let bytes = row.len * row.step[1].unsigned_abs();
                    share(nest, bytes, src, dst, |src, dst| copy(src, dst, *row));
                }
                Loops::Transpose(t) => t.run(src, dst),
            }
        }
    }
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
            if run > WIDEST_ELEMENT || !run.is_power_of_two() {
                nest.axes.iter_mut().for_each(|axis| *axis = forwards(*axis, start));
                return Loops::Runs { nest, bytes: run };
            }
            (size, row) = (run, nest.axes.pop().expect("a run shorter than the whole has loops around it"));
        }
        let unit = size as isize;
        if let Some(copy) = nest.axes.last().and_then(|rows| row::mirrored(&row, rows, size))
            && let Some(rows) = nest.axes.pop()
        {
            return Loops::Rows { nest, row: rows, size: size * row.len, copy };
        }
        // A long row of one element is filled.
        let fills = row.step[0] == 0 && row.len * size >= FILLED;
        let is_column = |a: &Axis<2>| row.step[1] == unit && a.step[0].abs() == unit;
        if let Some(i) = nest.axes.iter().position(is_column).filter(|_| !fills) {
            let column = forwards(nest.axes.remove(i), start);
            if let Some(copy) = row::repeated(&row, &column, size) {
                return Loops::Rows { nest, row: column, size, copy };
            }
            if column.len > THIN && row.len > THIN {
                return Loops::Transpose(Transpose::new(nest, column, row, size));
            }
            let (thin, long) = if row.len <= THIN { (row, column) } else { (column, row) };
            nest.axes.push(thin);
            row = long;
        }
        Loops::Rows { nest, row, size, copy: row::copy(&row, size) }
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

/// Runs `step` with the addresses of every step of a nest, on several threads when the steps, of `bytes` each, are enough.
///
/// # Safety
/// The pointers are valid for all of the nest's offsets, and steps may run at once.
#[inline(always)]
unsafe fn share(nest: &Nest<2>, bytes: usize, src: *const u8, dst: *mut u8, step: impl Fn(*const u8, *mut u8) + Sync) {
    let count = nest.count();
    let (src, dst) = (Shared(src), Shared(dst));
    let work = |range| {
        // SAFETY: offsets are the nest's, for all of which the pointers are valid; steps write disjoint places.
        nest.for_each(range, |[s, d]| unsafe { step(src.get().offset(s), dst.get().offset(d)) });
    };
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
unsafe fn copy_flat(src: *const u8, dst: *mut u8, bytes: usize) {
    if bytes < 2 * CHUNK || src == dst {
        // SAFETY: the run is as `copy_run` asks: apart, or one and the same.
        return unsafe { copy_run(src, dst, bytes) };
    }
    let (src, dst) = (Shared(src), Shared(dst));
    parallel_for(bytes, CHUNK, |range| {
        let copy = if bytes >= far::FAR { far::copy } else { copy_run };
        // SAFETY: the ranges are disjoint parts of the run, whose sides are apart.
        unsafe { copy(src.get().add(range.start), dst.get().add(range.start), range.len()) };
        far::finish();
    });
}

/// [`share`] of runs of 1 to [`SHORT_RUN`] bytes, each copied by two loads, which overlap where there are fewer bytes than they hold: a call of the C
/// library's function takes longer.
///
/// # Safety
/// As [`share`], of runs that are apart or the same.
unsafe fn share_short(nest: &Nest<2>, bytes: usize, src: *const u8, dst: *mut u8) {
    /// # Safety
    /// As the outer function, of at least `N` and at most `2 * N` bytes.
    unsafe fn by_two<const N: usize>(nest: &Nest<2>, bytes: usize, src: *const u8, dst: *mut u8) {
        // SAFETY: both ends of a run hold `N` bytes. All is read before anything is written, so that both sides may be the same.
        unsafe {
            share(nest, bytes, src, dst, |src, dst| {
                let (first, last) = (src.cast::<[u8; N]>().read(), src.add(bytes - N).cast::<[u8; N]>().read());
                dst.cast::<[u8; N]>().write(first);
                dst.add(bytes - N).cast::<[u8; N]>().write(last);
            });
        }
    }
    // SAFETY: the arm's number of bytes fits the runs.
    unsafe {
        match bytes {
            33.. => by_two::<32>(nest, bytes, src, dst),
            17..=32 => by_two::<16>(nest, bytes, src, dst),
            9..=16 => by_two::<8>(nest, bytes, src, dst),
            5..=8 => by_two::<4>(nest, bytes, src, dst),
            3..=4 => by_two::<2>(nest, bytes, src, dst),
            _ => by_two::<1>(nest, bytes, src, dst),
        }
    }
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
