//! What the loops know of a reduction over one element type.

use super::Reducer;
use crate::simd::{Float, Int, Simd};
use crate::stored::{StoredFloat, VectorOf};
use std::marker::PhantomData;

/// A reduction over one element type, in vectors of accumulators. All methods are `#[inline(always)]`, to be compiled in a routine's entry.
pub(super) trait Fold: Copy + Send + Sync + 'static {
    /// A stored input element.
    type In: Copy + Default + Send + Sync + 'static;
    /// What is accumulated in.
    type Acc: Copy + Default + Send + Sync + 'static;
    /// Accumulators side by side.
    type Vector<S: Simd>: Copy;

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
    /// Combines all lanes, as a balanced tree.
    fn fold_lanes<S: Simd>(self, v: Self::Vector<S>) -> Self::Acc;
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
    /// Finishes the first `n` accumulators, each of `count` elements, and writes the outputs, `out_stride` elements apart.
    ///
    /// # Safety
    /// `acc` is valid for reading `lanes` accumulators, and `out` for writing these outputs; `n <= lanes`.
    unsafe fn finish<S: Simd>(self, acc: *const Self::Acc, n: usize, count: usize, out: *mut u8, out_stride: usize);
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
        // SAFETY: the caller's.
        self.reducer.map(unsafe { E::load::<S>(ptr) })
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const E, n: usize) -> VectorOf<E, S> {
        // SAFETY: the caller's.
        let mapped = self.reducer.map(unsafe { E::load_partial::<S>(ptr, n) });
        Float::select(VectorOf::<E, S>::first(n), mapped, self.identity::<S>())
    }
    #[inline(always)]
    fn combine<S: Simd>(self, a: VectorOf<E, S>, b: VectorOf<E, S>) -> VectorOf<E, S> {
        self.reducer.combine(a, b)
    }
    #[inline(always)]
    fn fold_lanes<S: Simd>(self, v: VectorOf<E, S>) -> E::Compute {
        v.reduce(|a, b| {
            let (a, b) = (VectorOf::<E, S>::splat_elem(a), VectorOf::<E, S>::splat_elem(b));
            first_lane(self.reducer.combine(a, b))
        })
    }
    #[inline(always)]
    unsafe fn read<S: Simd>(self, ptr: *const E::Compute) -> VectorOf<E, S> {
        // SAFETY: the caller's.
        unsafe { Float::load(ptr) }
    }
    #[inline(always)]
    unsafe fn write<S: Simd>(self, v: VectorOf<E, S>, ptr: *mut E::Compute) {
        // SAFETY: the caller's.
        unsafe { v.store(ptr) }
    }
    #[inline(always)]
    unsafe fn finish<S: Simd>(self, acc: *const E::Compute, n: usize, count: usize, out: *mut u8, out_stride: usize) {
        let out = out.cast::<E>();
        // SAFETY: the caller vouches for a vector of accumulators and for n outputs; the array holds as many as any vector.
        unsafe {
            let results = self.reducer.finish(VectorOf::<E, S>::load(acc), count as f64);
            if out_stride == 1 {
                return if n == Self::lanes::<S>() {
                    E::store::<S>(results, out)
                } else {
                    E::store_partial::<S>(results, out, n)
                };
            }
            let mut elements = [E::default(); 16];
            E::store_partial::<S>(results, elements.as_mut_ptr(), n);
            for (i, &element) in elements[..n].iter().enumerate() {
                out.add(i * out_stride).write(element);
            }
        }
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        size_of::<E>()
    }
}

#[inline(always)]
pub(crate) fn first_lane<V: Float>(v: V) -> V::Elem {
    v.reduce(|a, _| a)
}

/// A reduction of integers `T`, accumulated in `A`: `T` itself or i64.
pub(super) struct IntFold<R, T, A> {
    reducer: R,
    /// Outputs are i64 rather than `T`.
    pub wide_output: bool,
    types: PhantomData<(T, A)>,
}

impl<R: Copy, T, A> Clone for IntFold<R, T, A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Copy, T, A> Copy for IntFold<R, T, A> {}

impl<R, T, A> IntFold<R, T, A> {
    pub fn new(reducer: R, wide_output: bool) -> Self {
        IntFold { reducer, wide_output, types: PhantomData }
    }
}

const INT_LANES: usize = 16;

impl<R: Reducer, T: Int, A: Int> Fold for IntFold<R, T, A> {
    type In = T;
    type Acc = A;
    type Vector<S: Simd> = [A; INT_LANES];

    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        INT_LANES
    }
    #[inline(always)]
    fn identity<S: Simd>(self) -> [A; INT_LANES] {
        [self.reducer.int_identity(); INT_LANES]
    }
    #[inline(always)]
    unsafe fn load<S: Simd>(self, ptr: *const T) -> [A; INT_LANES] {
        // SAFETY: the caller vouches for 16 elements.
        let elements = unsafe { ptr.cast::<[T; INT_LANES]>().read() };
        elements.map(|x| self.reducer.int_map(A::from_i64(x.to_i64())))
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const T, n: usize) -> [A; INT_LANES] {
        let mut v = self.identity::<S>();
        for (i, lane) in v[..n].iter_mut().enumerate() {
            // SAFETY: the caller vouches for n elements.
            *lane = self.reducer.int_map(A::from_i64(unsafe { ptr.add(i).read() }.to_i64()));
        }
        v
    }
    #[inline(always)]
    fn combine<S: Simd>(self, a: [A; INT_LANES], b: [A; INT_LANES]) -> [A; INT_LANES] {
        std::array::from_fn(|i| self.reducer.int_combine(a[i], b[i]))
    }
    #[inline(always)]
    fn fold_lanes<S: Simd>(self, v: [A; INT_LANES]) -> A {
        v.into_iter().reduce(|a, b| self.reducer.int_combine(a, b)).unwrap_or(A::ZERO)
    }
    #[inline(always)]
    unsafe fn read<S: Simd>(self, ptr: *const A) -> [A; INT_LANES] {
        // SAFETY: the caller's.
        unsafe { ptr.cast::<[A; INT_LANES]>().read() }
    }
    #[inline(always)]
    unsafe fn write<S: Simd>(self, v: [A; INT_LANES], ptr: *mut A) {
        // SAFETY: the caller's.
        unsafe { ptr.cast::<[A; INT_LANES]>().write(v) }
    }
    #[inline(always)]
    unsafe fn finish<S: Simd>(self, acc: *const A, n: usize, _count: usize, out: *mut u8, out_stride: usize) {
        for i in 0..n {
            // SAFETY: the caller vouches for n accumulators and n outputs of the size that `out_size` tells.
            unsafe {
                let value = acc.add(i).read().to_i64();
                if self.wide_output {
                    out.cast::<i64>().add(i * out_stride).write(value);
                } else {
                    out.cast::<T>().add(i * out_stride).write(T::from_i64(value));
                }
            }
        }
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        if self.wide_output { size_of::<i64>() } else { size_of::<T>() }
    }
}
