//! The loops that write elements at indices.

use opforge_core::IntDType;
use opforge_runtime::parallel::parallel_for;

use super::combine::{Combine, Summand};
use super::ids::{SKIP, each_position};
use super::lines::Lines;
use crate::copy::Shared;
use crate::loops::work;
use crate::matmul::operand::{Accumulator, Operand};

/// How an element is written.
#[derive(Clone, Copy)]
pub(super) struct Write {
    /// One element for each index: source and its step, sums and theirs, the step of an index in the sums.
    pub elements: unsafe fn(&[usize], *const u8, isize, *mut u8, isize, isize),
    /// Elements side by side: source and its step, sums and theirs, their number.
    pub row: unsafe fn(*const u8, isize, *mut u8, isize, usize),
    /// Elements of contiguous lines, with indices in `i64` and in `u32`.
    pub lines: [WriteLines; 2],
}

/// Writes elements of so many lines, one after the other: the first one's indices and elements, and the line. False if an index is out of range.
pub(super) type WriteLines = unsafe fn(&Lines, usize, *const u8, *const u8, *mut u8) -> bool;

/// How a dtype's sums are kept wider than it is: the size of a sum, and the ways there and back.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    pub size: usize,
    /// The size of an element.
    element: usize,
    widen: Convert,
    narrow: Convert,
}

/// Converts so many elements that lie side by side.
type Convert = unsafe fn(*const u8, *mut u8, usize);

impl Write {
    /// The way that overwrites.
    pub fn setting(size: usize) -> Self {
        by_size!(size, T => Write {
            elements: set::<T>,
            row: set_row::<T>,
            lines: [set_lines::<i64, T>, set_lines::<u32, T>],
        })
    }

    /// The way that combines.
    pub fn combining<T: Summand, C: Combine<T>>() -> Self {
        let lines: [WriteLines; 2] = [add_lines::<i64, T, C>, add_lines::<u32, T, C>];
        Write { elements: add::<T, C>, row: add_row::<T, C>, lines }
    }
}

/// How elements of a row are added to totals, and those to sums.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    pub size: usize,
    /// Source and its step, totals, their number.
    pub add: unsafe fn(*const u8, isize, *mut u8, usize),
    /// Totals, which become zero, sums and their step, their number.
    pub empty: unsafe fn(*mut u8, *mut u8, isize, usize),
}

impl Totals {
    pub fn of<T: Operand>() -> Self {
        Totals { size: size_of::<Total<T>>(), add: add_to_totals::<T>, empty: empty_totals::<T> }
    }
}

type Total<T> = <<T as Operand>::Acc as Accumulator>::Total;

/// # Safety
/// `src` is readable for `n` elements at its step; `totals` holds `n` totals. All are aligned.
unsafe fn add_to_totals<T: Operand>(src: *const u8, src_step: isize, totals: *mut u8, n: usize) {
    // SAFETY: source and totals are valid for `n` elements.
    unsafe {
        let totals = std::slice::from_raw_parts_mut(totals.cast::<Total<T>>(), n);
        if src_step == size_of::<T>() as isize {
            let src = std::slice::from_raw_parts(src.cast::<T>(), n);
            return totals.iter_mut().zip(src).for_each(|(total, x)| x.widen().add_to(total));
        }
        for (i, total) in (0..).zip(totals) {
            (*src.offset(i * src_step).cast::<T>()).widen().add_to(total);
        }
    }
}

/// # Safety
/// `totals` holds `n` totals, and `sums` is valid for `n` sums at their step. All are aligned.
unsafe fn empty_totals<T: Operand>(totals: *mut u8, sums: *mut u8, sum_step: isize, n: usize) {
    for i in 0..n {
        // SAFETY: `i` is below `n`, the number of totals and sums.
        unsafe {
            let total = std::mem::take(&mut *totals.cast::<Total<T>>().add(i));
            let sum = sums.offset(i as isize * sum_step).cast::<T::Acc>();
            *sum = T::Acc::of_total(total).plus(*sum);
        }
    }
}

impl Sums {
    pub fn of<T: Summand>() -> Self {
        Sums {
            size: size_of::<T::Sum>(),
            element: size_of::<T>(),
            widen: |from, to, n| {
                // SAFETY: whoever calls this answers for `n` elements and sums.
                unsafe { T::widen_all(from.cast(), to.cast(), n) }
            },
            narrow: |from, to, n| {
                // SAFETY: as above.
                unsafe { T::narrow_all(from.cast(), to.cast(), n) }
            },
        }
    }

    /// Makes sums of `n` elements.
    ///
    /// # Safety
    /// `from` is readable for `n` elements, `to` writable for `n` sums, aligned and side by side.
    pub unsafe fn widen(&self, from: *const u8, to: *mut u8, n: usize) {
        // SAFETY: elements and sums are as far apart as they are large, and there are `n` of both.
        unsafe { share(self.widen, (from, self.element), (to, self.size), n) }
    }

    /// Rounds `n` sums.
    ///
    /// # Safety
    /// `from` is readable for `n` sums, `to` writable for `n` elements, aligned and side by side.
    pub unsafe fn narrow(&self, from: *const u8, to: *mut u8, n: usize) {
        // SAFETY: as for `widen`, the other way.
        unsafe { share(self.narrow, (from, self.size), (to, self.element), n) }
    }
}

/// Shares a conversion of `n` elements of these sizes among threads.
///
/// # Safety
/// Both sides are valid for `n` elements, and they are those that `convert` takes.
unsafe fn share(convert: Convert, (from, from_size): (*const u8, usize), (to, to_size): (*mut u8, usize), n: usize) {
    let (from, to) = (Shared(from), Shared(to));
    parallel_for(n, work::GRAIN, |range| {
        let from = from.get().wrapping_add(range.start * from_size);
        let to = to.get().wrapping_add(range.start * to_size);
        // SAFETY: the range's elements are some of the `n`, and no other range has them.
        unsafe { convert(from, to, range.len()) };
    });
}

/// # Safety
/// Indices are [`SKIP`] or within the axis, where `dst` is writable for each element; `src` is readable for an element for each index.
unsafe fn set<T: Copy>(
    ids: &[usize],
    src: *const u8,
    src_step: isize,
    dst: *mut u8,
    dst_step: isize,
    axis_step: isize,
) {
    for (i, &id) in ids.iter().enumerate().filter(|(_, id)| **id != SKIP) {
        let i = i as isize;
        // SAFETY: the source has an element for the `i`-th index, and the output one at `id`, which is within the axis.
        unsafe {
            let value = src.offset(i * src_step).cast::<T>().read_unaligned();
            dst.offset(i * dst_step + id as isize * axis_step).cast::<T>().write_unaligned(value);
        }
    }
}

/// # Safety
/// As [`set`]; sums are of the accumulator's type.
unsafe fn add<T: Summand, C: Combine<T>>(
    ids: &[usize],
    src: *const u8,
    src_step: isize,
    sums: *mut u8,
    sum_step: isize,
    axis_step: isize,
) {
    for (i, &id) in ids.iter().enumerate().filter(|(_, id)| **id != SKIP) {
        let i = i as isize;
        // SAFETY: the source has an `i`-th element, the sums have one for index `id`, within the axis; both are aligned.
        unsafe {
            let value = (*src.offset(i * src_step).cast::<T>()).widen();
            let sum = sums.offset(i * sum_step + id as isize * axis_step).cast::<T::Sum>();
            *sum = C::combine(*sum, value);
        }
    }
}

/// # Safety
/// For each line `n` contiguous indices, and elements at their step, are readable, and `len` elements writable.
unsafe fn set_lines<I: IntDType, T: Copy>(
    lines: &Lines,
    count: usize,
    ids: *const u8,
    src: *const u8,
    dst: *mut u8,
) -> bool {
    lines.all(count, |[id, from, to]| {
        let (src, dst) = (src.wrapping_offset(from).cast::<T>(), dst.wrapping_offset(to).cast::<T>());
        // SAFETY: `each_position` gives `i` below `n` and `at` below `len`: an element of the line's source and one of the line.
        unsafe {
            each_position::<I>(ids.wrapping_offset(id), lines.n, lines.len, |i, at| {
                dst.add(at).write_unaligned(src.byte_offset(i as isize * lines.step).read_unaligned())
            })
        }
    })
}

/// # Safety
/// As [`set_lines`]; sums are of the accumulator's type.
unsafe fn add_lines<I: IntDType, T: Summand, C: Combine<T>>(
    lines: &Lines,
    count: usize,
    ids: *const u8,
    src: *const u8,
    sums: *mut u8,
) -> bool {
    lines.all(count, |[id, from, to]| {
        let (src, sums) = (src.wrapping_offset(from).cast::<T>(), sums.wrapping_offset(to).cast::<T::Sum>());
        let mut add = |i: usize, at: usize| {
            // SAFETY: `i` is below `n`, the source's elements, and `at` below `len`, the line's sums.
            unsafe { *sums.add(at) = C::combine(*sums.add(at), (*src.byte_offset(i as isize * lines.step)).widen()) }
        };
        // SAFETY: the line has `n` contiguous indices.
        unsafe { each_position::<I>(ids.wrapping_offset(id), lines.n, lines.len, &mut add) }
    })
}

/// # Safety
/// `src` is readable and `dst` writable for `n` elements of `T` at their steps.
unsafe fn set_row<T: Copy>(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize, n: usize) {
    // SAFETY: `i` is below `n`, the elements that both sides have at their steps.
    (0..n as isize).for_each(|i| unsafe {
        let value = src.offset(i * src_step).cast::<T>().read_unaligned();
        dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
    });
}

/// # Safety
/// As [`set_row`]; sums are of the accumulator's type.
unsafe fn add_row<T: Summand, C: Combine<T>>(
    src: *const u8,
    src_step: isize,
    sums: *mut u8,
    sum_step: isize,
    n: usize,
) {
    // SAFETY: both sides have `n` elements at their steps, aligned; sums and source are distinct memory.
    unsafe {
        if src_step == size_of::<T>() as isize && sum_step == size_of::<T::Sum>() as isize {
            let src = std::slice::from_raw_parts(src.cast::<T>(), n);
            let sums = std::slice::from_raw_parts_mut(sums.cast::<T::Sum>(), n);
            sums.iter_mut().zip(src).for_each(|(sum, value)| *sum = C::combine(*sum, value.widen()));
            return;
        }
        for i in 0..n as isize {
            let value = (*src.offset(i * src_step).cast::<T>()).widen();
            let sum = sums.offset(i * sum_step).cast::<T::Sum>();
            *sum = C::combine(*sum, value);
        }
    }
}
