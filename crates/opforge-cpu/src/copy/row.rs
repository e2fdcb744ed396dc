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
        return by_size!(size, T => reversed_by_avx2::<T>);
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

/// A row read backwards, for which AVX2 has a permutation of bytes.
///
/// # Safety
/// As [`CopyRow`], for a row with the steps minus one and one element, on a CPU with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn reversed_by_avx2<T: Copy>(src: *const u8, dst: *mut u8, row: Axis<2>) {
    let size = size_of::<T>() as isize;
    // SAFETY: these are the row's steps.
    unsafe { strided::<T>(src, dst, row.len, -size, size) }
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
