//! Rows of single elements.

use super::Axis;
#[cfg(target_arch = "x86_64")]
use crate::simd::Isa;

/// Copies a row of elements of a fixed size.
///
/// # Safety
/// The pointers are valid for all elements at the row's steps.
pub(super) type CopyRow = unsafe fn(*const u8, *mut u8, Axis<2>);

/// The copy of a row of elements of `size` bytes.
pub(super) fn copy(row: &Axis<2>, size: usize) -> CopyRow {
    let unit = size as isize;
    #[cfg(target_arch = "x86_64")]
    if row.step == [-unit, unit] && Isa::current() >= Isa::Avx2 {
        return by_size!(size, T => x86::reversed::<T>);
    }
    by_size!(size, T => copy_row::<T>)
}

/// The copy of a row whose elements are each written several times side by side: `times` is the loop over copies, which lie next to each other.
pub(super) fn repeated(times: &Axis<2>, row: &Axis<2>, size: usize) -> Option<CopyRow> {
    let unit = size as isize;
    if times.step != [0, unit] || row.step[1] != unit * times.len as isize {
        return None;
    }
    match times.len {
        2 => Some(by_size!(size, T => repeat::<T, 2>)),
        3 => Some(by_size!(size, T => repeat::<T, 3>)),
        4 => Some(by_size!(size, T => repeat::<T, 4>)),
        _ => None,
    }
}

/// The copy of short rows that lie one after another on both sides, each of which is read backwards: of the elements `rows`, which are rows.
pub(super) fn mirrored(row: &Axis<2>, rows: &Axis<2>, size: usize) -> Option<CopyRow> {
    #[cfg(target_arch = "x86_64")]
    {
        let (unit, bytes) = (size as isize, row.len * size);
        let fits = row.step == [-unit, unit] && rows.step == [bytes as isize; 2] && bytes <= x86::VECTOR;
        if fits && Isa::current() >= Isa::Avx2 {
            return Some(by_size!(size, T => x86::mirror_rows::<T>));
        }
    }
    let _ = (row, rows, size);
    None
}

/// # Safety
/// As [`CopyRow`].
unsafe fn copy_row<T: Copy>(src: *const u8, dst: *mut u8, row: Axis<2>) {
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
/// As [`CopyRow`], with room for `N` elements side by side at each step of the destination.
unsafe fn repeat<T: Copy, const N: usize>(src: *const u8, dst: *mut u8, row: Axis<2>) {
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
    /// As [`CopyRow`](super::CopyRow), for a row with the steps minus one and one element, on a CPU with AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn reversed<T: Copy>(src: *const u8, dst: *mut u8, row: Axis<2>) {
        let size = size_of::<T>() as isize;
        // SAFETY: these are the row's steps.
        unsafe { strided::<T>(src, dst, row.len, -size, size) }
    }

    /// Rows of `T` read backwards, as many at a time as a vector holds.
    ///
    /// # Safety
    /// As [`CopyRow`](super::CopyRow), where elements are rows of at most [`VECTOR`] bytes, one after another on both sides, the source is the last
    /// element of the first, and the CPU has AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn mirror_rows<T: Copy>(src: *const u8, dst: *mut u8, rows: Axis<2>) {
        let (size, bytes) = (size_of::<T>(), rows.step[1] as usize);
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
