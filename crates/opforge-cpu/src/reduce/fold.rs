//! What the loops know of a reduction over one element type.

use super::Reducer;
use crate::simd::stored::{StoredFloat, VectorOf, store_strided};
use crate::simd::{Float, Int, Integer, Simd, Vector};
use std::marker::PhantomData;

/// A reduction over one element type, in vectors of accumulators. All methods are `#[inline(always)]`, to be compiled in a routine's entry.
pub(super) trait Fold: Copy + Send + Sync + 'static {
    /// A stored input element.
    type In: Copy + Default + Send + Sync + 'static;
    /// What is accumulated in.
    type Acc: Copy + Default + Send + Sync + 'static;
    /// Accumulators side by side.
    type Vector<S: Simd>: Copy;
    /// Whether vectors beyond the portable ones are worth their code.
    const AVX512: bool;

    /// The number of lanes; at most 16.
    fn lanes<S: Simd>() -> usize;
    /// What changes nothing when combined, in every lane.
    fn identity<S: Simd>(self) -> Self::Vector<S>;
    /// Reads a vector of elements and maps them.
    ///
    /// # Safety
    /// `ptr` is valid for reading `lanes` elements.
    unsafe fn load<S: Simd>(self, ptr: *const Self::In) -> Self::Vector<S>;
    /// Reads `n` elements and maps them; the lanes after them are the identity.
    ///
    /// # Safety
    /// `ptr` is valid for reading `n` elements, and `n <= lanes`.
    unsafe fn load_partial<S: Simd>(self, ptr: *const Self::In, n: usize) -> Self::Vector<S>;
    /// Combines lane by lane.
    fn combine<S: Simd>(self, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// As [`combine`](Fold::combine), where that is rare: not in line if its code is long.
    #[inline(always)]
    fn combine_rarely<S: Simd>(self, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
        self.combine::<S>(a, b)
    }
    /// Combines all lanes, as a balanced tree; the result is in the first lane.
    fn fold_lanes<S: Simd>(self, v: Self::Vector<S>) -> Self::Vector<S>;
    /// Reads accumulators.
    ///
    /// # Safety
    /// `ptr` is valid for reading `lanes` accumulators.
    unsafe fn read<S: Simd>(self, ptr: *const Self::Acc) -> Self::Vector<S>;
    /// Writes accumulators.
    ///
    /// # Safety
    /// `ptr` is valid for writing `lanes` accumulators.
    unsafe fn write<S: Simd>(self, v: Self::Vector<S>, ptr: *mut Self::Acc);
    /// Finishes the first `n` lanes, each of `count` elements, and writes the outputs, `out_stride` elements apart.
    ///
    /// # Safety
    /// `out` is valid for writing these outputs; `n <= lanes`.
    unsafe fn finish<S: Simd>(self, v: Self::Vector<S>, n: usize, count: usize, out: *mut u8, out_stride: usize);
    /// The size of an output element in bytes.
    fn out_size(self) -> usize;
}

/// A reduction of floats.
pub(super) struct FloatFold<R, E> {
    reducer: R,
    element: PhantomData<E>,
}

impl<R: Copy, E> Clone for FloatFold<R, E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Copy, E> Copy for FloatFold<R, E> {}

impl<R, E> FloatFold<R, E> {
    pub fn new(reducer: R) -> Self {
        FloatFold { reducer, element: PhantomData }
    }
}

impl<R: Reducer, E: StoredFloat> Fold for FloatFold<R, E> {
    type In = E;
    type Acc = E::Compute;
    type Vector<S: Simd> = VectorOf<E, S>;
    const AVX512: bool = true;

    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        VectorOf::<E, S>::LANES
    }
    #[inline(always)]
    fn identity<S: Simd>(self) -> VectorOf<E, S> {
        Float::splat(self.reducer.identity())
    }
    #[inline(always)]
    unsafe fn load<S: Simd>(self, ptr: *const E) -> VectorOf<E, S> {
        // SAFETY: a whole vector of elements is readable at `ptr`.
        self.reducer.map(unsafe { E::load::<S>(ptr) })
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const E, n: usize) -> VectorOf<E, S> {
        // SAFETY: `ptr` has `n` elements, no more than the vector has lanes.
        let mapped = self.reducer.map(unsafe { E::load_partial::<S>(ptr, n) });
        Float::select(VectorOf::<E, S>::first(n), mapped, self.identity::<S>())
    }
    #[inline(always)]
    fn combine<S: Simd>(self, a: VectorOf<E, S>, b: VectorOf<E, S>) -> VectorOf<E, S> {
        self.reducer.combine(a, b)
    }
    #[inline(always)]
    fn fold_lanes<S: Simd>(self, v: VectorOf<E, S>) -> VectorOf<E, S> {
        Vector::splat_elem(v.reduce(|a, b| {
            let (a, b) = (VectorOf::<E, S>::splat_elem(a), VectorOf::<E, S>::splat_elem(b));
            first_lane(self.reducer.combine(a, b))
        }))
    }
    #[inline(always)]
    unsafe fn read<S: Simd>(self, ptr: *const E::Compute) -> VectorOf<E, S> {
        // SAFETY: as many accumulators as lanes are readable at `ptr`.
        unsafe { Vector::load(ptr) }
    }
    #[inline(always)]
    unsafe fn write<S: Simd>(self, v: VectorOf<E, S>, ptr: *mut E::Compute) {
        // SAFETY: as many accumulators as lanes are writable at `ptr`.
        unsafe { v.store(ptr) }
    }
    #[inline(always)]
    unsafe fn finish<S: Simd>(self, v: VectorOf<E, S>, n: usize, count: usize, out: *mut u8, out_stride: usize) {
        // SAFETY: `out` has room for `n` outputs of type `E` at this stride, and `n` is at most the lanes.
        unsafe {
            let results = self.reducer.finish(v, count as f64);
            store_strided::<S, E>(results, n, out.cast(), out_stride);
        }
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        size_of::<E>()
    }
}

#[inline(always)]
pub(super) fn first_lane<V: Vector>(v: V) -> V::Elem {
    v.reduce(|a, _| a)
}

/// The mathematics of a reduction of integers.
pub(super) trait IntMath: Copy + Send + Sync + 'static {
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
pub(super) enum IntOutput {
    /// The input's type.
    Same,
    I64,
    /// Bool or u8.
    Byte,
}

/// A reduction of integers `T`, accumulated in `A`: `T` itself or i64.
pub(super) struct IntFold<M, T, A> {
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

/// Out of line: integers are compiled for one instruction set only, so that nothing is lost but a call.
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
            *lane = self.math.map(A::from_i64(unsafe { ptr.add(i).read() }.to_i64()));
        }
        v
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const T, n: usize) -> [A; INT_LANES] {
        let mut v = self.identity::<S>();
        for (i, lane) in v[..n].iter_mut().enumerate() {
            // SAFETY: the caller vouches for n elements.
            *lane = self.math.map(A::from_i64(unsafe { ptr.add(i).read() }.to_i64()));
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
                    IntOutput::Byte => out.add(i * out_stride).write(value as u8),
                }
            }
        }
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        match self.output {
            IntOutput::Same => size_of::<T>(),
            IntOutput::I64 => size_of::<i64>(),
            IntOutput::Byte => 1,
        }
    }
}
