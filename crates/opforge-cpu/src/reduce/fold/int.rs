//! Reductions of integers, by plain loops: in whatever order they are combined, the result is the same.

use super::Fold;
use crate::reduce::Reducer;
use crate::simd::{Int, Integer, Simd};
use std::marker::PhantomData;

/// The mathematics of a reduction of integers.
pub(in crate::reduce) trait IntMath: Copy + Send + Sync + 'static {
    fn identity<T: Int>(self) -> T;
    fn map<T: Int>(self, x: T) -> T;
    fn combine<T: Int>(self, a: T, b: T) -> T;
}

impl<R: Reducer> IntMath for R {
    #[inline(always)]
    fn identity<T: Int>(self) -> T {
        self.int_identity()
    }
    #[inline(always)]
    fn map<T: Int>(self, x: T) -> T {
        self.int_map(x)
    }
    #[inline(always)]
    fn combine<T: Int>(self, a: T, b: T) -> T {
        self.int_combine(a, b)
    }
}

/// What integer results are stored as; the low bits are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reduce) enum IntOutput {
    /// The input's type.
    Same,
    I64,
    /// Bool or u8, of which the bits `turned` are turned over.
    Byte {
        turned: u8,
    },
}

/// A reduction of integers `T`, accumulated in `A`: `T` itself or i64.
pub(in crate::reduce) struct IntFold<M, T, A> {
    math: M,
    output: IntOutput,
    types: PhantomData<(T, A)>,
}

impl<M: Copy, T, A> Clone for IntFold<M, T, A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Copy, T, A> Copy for IntFold<M, T, A> {}

impl<M, T, A> IntFold<M, T, A> {
    pub fn new(math: M, output: IntOutput) -> Self {
        IntFold { math, output, types: PhantomData }
    }
}

const INT_LANES: usize = 8;
/// Elements up to which rows of integers are folded several at a time: to fold the lanes of each would take longer than the row.
const SHORT_ROW: usize = 128;

impl<M: IntMath, T: Integer, A: Integer> IntFold<M, T, A> {
    /// An element as it is accumulated.
    #[inline(always)]
    fn element(self, x: T) -> A {
        self.math.map(A::from_i64(x.to_i64()))
    }
}

/// Out of line, for what is rare.
impl<M: IntMath, T, A: Integer> IntFold<M, T, A> {
    #[inline(never)]
    fn combine_into(self, a: &mut [A; INT_LANES], b: &[A; INT_LANES]) {
        for (a, &b) in a.iter_mut().zip(b) {
            *a = self.math.combine(*a, b);
        }
    }
    #[inline(never)]
    fn folded(self, v: &[A; INT_LANES]) -> [A; INT_LANES] {
        let mut all = *v;
        all[0] = v[1..].iter().fold(v[0], |all, &lane| self.math.combine(all, lane));
        all
    }
}

impl<M: IntMath, T: Integer, A: Integer> Fold for IntFold<M, T, A> {
    type In = T;
    type Acc = A;
    type Vector<S: Simd> = [A; INT_LANES];
    const AVX512: bool = false;

    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        INT_LANES
    }
    #[inline(always)]
    fn identity<S: Simd>(self) -> [A; INT_LANES] {
        [self.math.identity(); INT_LANES]
    }
    #[inline(always)]
    unsafe fn load<S: Simd>(self, ptr: *const T) -> [A; INT_LANES] {
        let mut v = self.identity::<S>();
        for (i, lane) in v.iter_mut().enumerate() {
            // SAFETY: the caller vouches for all lanes.
            *lane = self.element(unsafe { ptr.add(i).read() });
        }
        v
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const T, n: usize) -> [A; INT_LANES] {
        let mut v = self.identity::<S>();
        for (i, lane) in v[..n].iter_mut().enumerate() {
            // SAFETY: the caller vouches for n elements.
            *lane = self.element(unsafe { ptr.add(i).read() });
        }
        v
    }
    #[inline(always)]
    fn combine<S: Simd>(self, mut a: [A; INT_LANES], b: [A; INT_LANES]) -> [A; INT_LANES] {
        for i in 0..INT_LANES {
            a[i] = self.math.combine(a[i], b[i]);
        }
        a
    }
    #[inline(always)]
    fn combine_rarely<S: Simd>(self, mut a: [A; INT_LANES], b: [A; INT_LANES]) -> [A; INT_LANES] {
        self.combine_into(&mut a, &b);
        a
    }
    #[inline(always)]
    fn fold_lanes<S: Simd>(self, v: [A; INT_LANES]) -> [A; INT_LANES] {
        self.folded(&v)
    }
    #[inline(always)]
    unsafe fn read<S: Simd>(self, ptr: *const A) -> [A; INT_LANES] {
        // SAFETY: `INT_LANES`, the lanes of this fold, accumulators are readable at `ptr`.
        unsafe { ptr.cast::<[A; INT_LANES]>().read() }
    }
    #[inline(always)]
    unsafe fn write<S: Simd>(self, v: [A; INT_LANES], ptr: *mut A) {
        // SAFETY: `INT_LANES`, the lanes of this fold, accumulators are writable at `ptr`.
        unsafe { ptr.cast::<[A; INT_LANES]>().write(v) }
    }
    #[inline(always)]
    unsafe fn finish<S: Simd>(self, v: [A; INT_LANES], n: usize, _count: usize, out: *mut u8, out_stride: usize) {
        for (i, lane) in v[..n].iter().enumerate() {
            let value = lane.to_i64();
            // SAFETY: the caller vouches for n outputs of the size that `out_size` tells.
            unsafe {
                match self.output {
                    IntOutput::Same => out.cast::<T>().add(i * out_stride).write(T::from_i64(value)),
                    IntOutput::I64 => out.cast::<i64>().add(i * out_stride).write(value),
                    IntOutput::Byte { turned } => out.add(i * out_stride).write(value as u8 ^ turned),
                }
            }
        }
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        match self.output {
            IntOutput::Same => size_of::<T>(),
            IntOutput::I64 => size_of::<i64>(),
            IntOutput::Byte { .. } => 1,
        }
    }

    /// By a plain loop: in whatever order integers are combined, so that the compiler chooses how many at once.
    #[inline(always)]
    unsafe fn fold_block<S: Simd>(self, ptr: *const T, n: usize) -> [A; INT_LANES] {
        let mut all = self.math.identity();
        for i in 0..n {
            // SAFETY: the caller vouches for n elements.
            all = self.math.combine(all, self.element(unsafe { ptr.add(i).read() }));
        }
        let mut lanes = self.identity::<S>();
        lanes[0] = all;
        lanes
    }

    /// By plain loops, each of which leaves one number, as [`fold_block`](Fold::fold_block).
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(self, rows: *const T, step: usize, len: usize) -> Option<[A; INT_LANES]> {
        if len > SHORT_ROW {
            return None;
        }
        let mut folded = self.identity::<S>();
        for (r, folded) in folded.iter_mut().enumerate() {
            for i in 0..len {
                // SAFETY: there is a row of `len` elements for each lane.
                *folded = self.math.combine(*folded, self.element(unsafe { rows.add(r * step + i).read() }));
            }
        }
        Some(folded)
    }

    /// By a plain loop, as [`fold_block`](Fold::fold_block).
    #[inline(always)]
    unsafe fn add_rows<S: Simd, const N: usize>(self, rows: [*const T; N], width: usize, acc: *mut A) {
        for i in 0..width {
            // SAFETY: the caller vouches for `width` elements of each row, and as many accumulators.
            unsafe {
                let mut all = acc.add(i).read();
                for row in rows {
                    all = self.math.combine(all, self.element(row.add(i).read()));
                }
                acc.add(i).write(all);
            }
        }
    }
}
