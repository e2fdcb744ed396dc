//! Rows of runs: short ones of a fixed number of bytes, at equal distances on either side. A single element is a run too.

use std::ops::Range;

use super::plan::{CHUNK, Shared, share};
use super::run::{Run, by_run};
use super::{Axis, Nest};
#[cfg(target_arch = "x86_64")]
use crate::simd::Isa;
use opforge_runtime::parallel::num_threads;

/// Bytes that several loops over the same rows write in turn, while they are in the nearest cache.
pub(super) const BLOCK: usize = 8 << 10;

/// Copies a row of runs of so many bytes.
///
/// # Safety
/// The pointers are valid for all runs at the row's steps. The sides are apart or the same.
type Call = unsafe fn(*const u8, *mut u8, Axis<2>, usize);

/// How the runs of a row are copied, chosen by their length.
#[derive(Clone, Copy)]
pub(crate) struct CopyRow {
    bytes: usize,
    copy: Call,
}

impl CopyRow {
    /// The copy of rows like `row`, of runs of `bytes` bytes, from 1 to [`SHORT_RUN`](super::run::SHORT_RUN).
    pub fn new(row: &Axis<2>, bytes: usize) -> Self {
        let copy: Call = match bytes {
            1 | 2 | 4 | 8 | 16 => Self::of_elements(row, bytes),
            _ => by_run!(bytes, R => copy_runs::<R>),
        };
        CopyRow { bytes, copy }
    }

    fn of_elements(row: &Axis<2>, size: usize) -> Call {
        #[cfg(target_arch = "x86_64")]
        if row.step == [-(size as isize), size as isize] && Isa::current() >= Isa::Avx2 {
            return by_size!(size, T => x86::reversed::<T>);
        }
        let _ = row;
        by_size!(size, T => copy_row::<T>)
    }

    /// The bytes of a run.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies a row.
    ///
    /// # Safety
    /// The pointers are valid for all runs at the row's steps, which are those of the row that this was made for. The sides are apart or the same.
    #[inline(always)]
    pub unsafe fn run(&self, src: *const u8, dst: *mut u8, row: Axis<2>) {
        // SAFETY: the row's runs are valid, as this method demands, and the function was chosen for runs of so many bytes.
        unsafe { (self.copy)(src, dst, row, self.bytes) }
    }
}

/// Rows of short runs within loops.
pub(super) struct Rows {
    nest: Nest<2>,
    /// A short loop around that of the row, whose turns go over a block of it one after the other.
    around: Axis<2>,
    row: Axis<2>,
    block: usize,
    pub copy: CopyRow,
}

impl Rows {
    pub fn new(nest: Nest<2>, around: Option<Axis<2>>, row: Axis<2>, copy: CopyRow) -> Self {
        let block = around.map_or(row.len, |around| BLOCK / (around.len * copy.bytes)).max(1);
        Rows { nest, around: around.unwrap_or(Axis { len: 1, step: [0; 2] }), row, block, copy }
    }

    /// # Safety
    /// The pointers are valid for all offsets of the loops, apart or the same.
    pub unsafe fn run(&self, src: *const u8, dst: *mut u8) {
        let (src, dst) = (Shared(src), Shared(dst));
        let bytes = self.row.len * self.around.len * self.copy.bytes;
        let parts = if bytes < 2 * CHUNK { 1 } else { (bytes / CHUNK).next_multiple_of(num_threads()) };
        let part = self.row.len.div_ceil(parts);
        share(self.nest.count() * parts, bytes / parts, |range| {
            self.nest.for_each_part(parts, range, |[s, d], i| {
                let range = (i * part).min(self.row.len)..((i + 1) * part).min(self.row.len);
                // SAFETY: the range is of the row's runs; others write other runs.
                unsafe { self.part(src.get().wrapping_offset(s), dst.get().wrapping_offset(d), range) };
            });
        });
    }

    /// Copies the runs `range` of a row, at every step of the loop around it.
    ///
    /// # Safety
    /// As [`Self::run`], for one step of the outer loops.
    #[inline(always)]
    unsafe fn part(&self, src: *const u8, dst: *mut u8, range: Range<usize>) {
        let mut first = range.start;
        while first < range.end {
            let row = Axis { len: self.block.min(range.end - first), ..self.row };
            for i in 0..self.around.len as isize {
                let [from, to] = [0, 1].map(|t| first as isize * row.step[t] + i * self.around.step[t]);
                // SAFETY: the loops have a row of so many runs there.
                unsafe { self.copy.run(src.offset(from), dst.offset(to), row) };
            }
            first += row.len;
        }
    }
}

/// The copy of a row whose elements are each written several times side by side: `times` is the loop over copies, which lie next to each other.
pub(super) fn repeated(times: &Axis<2>, row: &Axis<2>, size: usize) -> Option<CopyRow> {
    let unit = size as isize;
    if times.step != [0, unit] || row.step[1] != unit * times.len as isize {
        return None;
    }
    let copy: Call = match times.len {
        2 => by_size!(size, T => repeat::<T, 2>),
        3 => by_size!(size, T => repeat::<T, 3>),
        4 => by_size!(size, T => repeat::<T, 4>),
        _ => return None,
    };
    Some(CopyRow { bytes: size * times.len, copy })
}

/// The copy of short rows that lie one after another on both sides, each of which is read backwards: of the elements `rows`, which are rows.
pub(super) fn mirrored(row: &Axis<2>, rows: &Axis<2>, size: usize) -> Option<CopyRow> {
    #[cfg(target_arch = "x86_64")]
    {
        let (unit, bytes) = (size as isize, row.len * size);
        let fits = row.step == [-unit, unit] && rows.step == [bytes as isize; 2] && bytes <= x86::VECTOR;
        if fits && Isa::current() >= Isa::Avx2 {
            return Some(CopyRow { bytes, copy: by_size!(size, T => x86::mirror_rows::<T>) });
        }
    }
    let _ = (row, rows, size);
    None
}

/// # Safety
/// As [`Call`], of a length that `R` is for.
unsafe fn copy_runs<R: Run>(src: *const u8, dst: *mut u8, row: Axis<2>, bytes: usize) {
    for i in 0..row.len as isize {
        // SAFETY: both sides have a run at each of the row's steps.
        unsafe { R::copy(src.offset(i * row.step[0]), dst.offset(i * row.step[1]), bytes) };
    }
}

/// # Safety
/// As [`Call`].
unsafe fn copy_row<T: Copy>(src: *const u8, dst: *mut u8, row: Axis<2>, _: usize) {
    let size = size_of::<T>() as isize;
    // SAFETY: every access is one of the row's elements.
    unsafe {
        match row.step.into() {
            (0, dst_step) if dst_step == size => {
                let value = src.cast::<T>().read_unaligned();
                for i in 0..row.len {
                    dst.cast::<T>().add(i).write_unaligned(value);
                }
            }
            (src_step, dst_step) if src_step == -size && dst_step == size => {
                strided::<T>(src, dst, row.len, -size, size)
            }
            (src_step, dst_step) if src_step == 2 * size && dst_step == size => {
                strided::<T>(src, dst, row.len, 2 * size, size)
            }
            (src_step, dst_step) if dst_step == size => strided::<T>(src, dst, row.len, src_step, size),
            (src_step, dst_step) if src_step == size => strided::<T>(src, dst, row.len, size, dst_step),
            (src_step, dst_step) => strided::<T>(src, dst, row.len, src_step, dst_step),
        }
    }
}

/// # Safety
/// Both sides are valid for `len` elements at their steps.
#[inline(always)]
unsafe fn strided<T: Copy>(src: *const u8, dst: *mut u8, len: usize, src_step: isize, dst_step: isize) {
    for i in 0..len as isize {
        // SAFETY: `i` is below `len`.
        unsafe {
            let value = src.offset(i * src_step).cast::<T>().read_unaligned();
            dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
        }
    }
}

/// # Safety
/// As [`Call`], with room for `N` elements side by side at each step of the destination.
unsafe fn repeat<T: Copy, const N: usize>(src: *const u8, dst: *mut u8, row: Axis<2>, _: usize) {
    let size = size_of::<T>() as isize;
    let write = |src_step: isize| {
        for i in 0..row.len {
            // SAFETY: `i` is below the row's length, and the destination has `N` elements there.
            unsafe {
                let value = src.offset(i as isize * src_step).cast::<T>().read_unaligned();
                dst.cast::<[T; N]>().add(i).write_unaligned([value; N]);
            }
        }
    };
    if row.step[0] == size { write(size) } else { write(row.step[0]) }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128};

    use super::{Axis, strided};

    /// Bytes of a vector.
    pub const VECTOR: usize = 16;

    /// A row read backwards, for which AVX2 has a permutation of bytes.
    ///
    /// # Safety
    /// As [`Call`](super::Call), for a row with the steps minus one and one element, on a CPU with AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn reversed<T: Copy>(src: *const u8, dst: *mut u8, row: Axis<2>, _: usize) {
        let size = size_of::<T>() as isize;
        // SAFETY: these are the row's steps.
        unsafe { strided::<T>(src, dst, row.len, -size, size) }
    }

    /// Rows of `T` read backwards, as many at a time as a vector holds.
    ///
    /// # Safety
    /// As [`Call`](super::Call), where elements are rows of at most [`VECTOR`] bytes, one after another on both sides, the source is the last
    /// element of the first, and the CPU has AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn mirror_rows<T: Copy>(src: *const u8, dst: *mut u8, rows: Axis<2>, bytes: usize) {
        let size = size_of::<T>();
        let (all, turned) = (rows.len * bytes, VECTOR / bytes * bytes);
        // Where each byte of whole rows comes from; those after them are written again.
        let place = |at: usize| at / bytes * bytes + (bytes - size - at % bytes / size * size) + at % size;
        let places: [u8; VECTOR] = std::array::from_fn(|at| if at < turned { place(at) as u8 } else { 0 });
        let mut done = 0;
        // SAFETY: vectors lie within the rows; what is left of them is written by elements.
        unsafe {
            let (src, places) = (src.sub(bytes - size), _mm_loadu_si128(places.as_ptr().cast()));
            while done + VECTOR <= all {
                let vector = _mm_loadu_si128(src.add(done).cast());
                _mm_storeu_si128(dst.add(done).cast(), _mm_shuffle_epi8(vector, places));
                done += turned;
            }
            for first in (done..all).step_by(bytes) {
                let (last, size) = (src.add(first + bytes - size), size as isize);
                strided::<T>(last, dst.add(first), bytes / size as usize, -size, size);
            }
        }
    }
}
