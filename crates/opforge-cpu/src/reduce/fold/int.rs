//! Reductions of integers, by plain loops: in whatever order they are combined, the result is the same.

use super::Fold;
use crate::reduce::Reducer;
use crate::reduce::plan::Plan;
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

/// Writes results as integers of another type.
///
/// # Safety
/// `out` is writable for as many elements at this stride.
#[inline(always)]
unsafe fn write_each<A: Integer, T>(results: &[A], out: *mut T, stride: usize, element: impl Fn(i64) -> T) {
    for (i, result) in results.iter().enumerate() {
        // SAFETY: the caller vouches for it.
        unsafe { out.add(i * stride).write(element(result.to_i64())) };
    }
}

impl<M: IntMath, T: Integer, A: Integer> IntFold<M, T, A> {
    /// Stores results, `stride` outputs apart.
    ///
    /// # Safety
    /// `out` is writable for as many outputs of the size that `out_size` tells.
    #[inline(always)]
    unsafe fn store(self, results: &[A], out: *mut u8, stride: usize) {
        // SAFETY: outputs are of these types.
        unsafe {
            match self.output {
                IntOutput::Same => write_each(results, out.cast::<T>(), stride, T::from_i64),
                IntOutput::I64 => write_each(results, out.cast::<i64>(), stride, |value| value),
                IntOutput::Byte { turned } => write_each(results, out, stride, |value| value as u8 ^ turned),
            }
        }
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
        // SAFETY: the caller vouches for n outputs.
        unsafe { self.store(&v[..n], out, out_stride) };
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

    /// By plain loops over some rows side by side, so that none of them waits for its end, and results stay in registers.
    #[inline(always)]
    unsafe fn complete_rows<S: Simd>(
        self,
        (rows, step): (*const T, usize),
        len: usize,
        plan: &Plan,
        (out, out_stride): (*mut u8, usize),
    ) -> bool {
        if len > SHORT_ROW || plan.repeats != 1 {
            return false;
        }
        const TOGETHER: usize = 4;
        for first in (0..INT_LANES).step_by(TOGETHER) {
            // SAFETY: there is a row of `len` elements for each lane.
            let at = |r: usize, i: usize| self.element(unsafe { rows.add((first + r) * step + i).read() });
            // Variables: the compiler would keep an array in memory.
            let [mut a, mut b, mut c, mut d] = [self.math.identity(); TOGETHER];
            for i in 0..len {
                a = self.math.combine(a, at(0, i));
                b = self.math.combine(b, at(1, i));
                c = self.math.combine(c, at(2, i));
                d = self.math.combine(d, at(3, i));
            }
            // SAFETY: there is an output for each lane.
            unsafe { self.store(&[a, b, c, d], out.add(first * out_stride * self.out_size()), out_stride) };
        }
        true
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
