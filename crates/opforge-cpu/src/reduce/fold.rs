//! What the loops know of a reduction over one element type.

use super::Reducer;
use crate::simd::stored::{StoredFloat, VectorOf, store_strided};
use crate::simd::{Float, Int, Integer, Isa, Simd, Vector};
use std::marker::PhantomData;

/// Blocks that are folded at once where they are read from memory.
pub(super) const STREAMS: usize = 4;

/// A reduction over one element type, in vectors of accumulators. All methods are `#[inline(always)]`, to be compiled in a routine's entry.
pub(super) trait Fold: Copy + Send + Sync + 'static {
    /// A stored input element.
    type In: Copy + Default + Send + Sync + 'static;
    /// What is accumulated in.
    type Acc: Copy + Default + Send + Sync + 'static;
    /// Accumulators side by side.
    type Vector<S: Simd>: Copy;
    /// Whether vectors of 512 bits are worth their code.
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

    /// Folds `n` neighbouring elements, four vectors at a time.
    ///
    /// # Safety
    /// `ptr` is valid for reading `n` elements.
    #[inline(always)]
    unsafe fn fold_block<S: Simd>(self, ptr: *const Self::In, n: usize) -> Self::Vector<S> {
        let lanes = Self::lanes::<S>();
        let mut i = 0;
        // SAFETY: every read ends at or before element n.
        unsafe {
            let load = |i: usize| self.load::<S>(ptr.add(i));
            let mut acc = self.identity::<S>();
            if n >= 4 * lanes {
                let (mut a, mut b, mut c, mut d) = (load(0), load(lanes), load(2 * lanes), load(3 * lanes));
                i = 4 * lanes;
                while i + 4 * lanes <= n {
                    a = self.combine::<S>(a, load(i));
                    b = self.combine::<S>(b, load(i + lanes));
                    c = self.combine::<S>(c, load(i + 2 * lanes));
                    d = self.combine::<S>(d, load(i + 3 * lanes));
                    i += 4 * lanes;
                }
                acc = self.combine::<S>(self.combine::<S>(a, b), self.combine::<S>(c, d));
            }
            while i + lanes <= n {
                acc = self.combine::<S>(acc, load(i));
                i += lanes;
            }
            if i < n {
                acc = self.combine::<S>(acc, self.load_partial::<S>(ptr.add(i), n - i));
            }
            acc
        }
    }

    /// Folds as many rows as there are lanes, `step` elements apart: each as [`fold_block`](Fold::fold_block) and [`fold_lanes`](Fold::fold_lanes) do,
    /// into a lane of its own. None where that is no faster than one after the other.
    ///
    /// # Safety
    /// The rows are valid for reading `len` elements.
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(self, _rows: *const Self::In, _step: usize, _len: usize) -> Option<Self::Vector<S>> {
        None
    }

    /// How many blocks are best folded at once where they are read from memory: 1 or [`STREAMS`].
    #[inline(always)]
    fn streams<S: Simd>() -> usize {
        1
    }

    /// [`fold_block`](Fold::fold_block) of several blocks, of a multiple of four vectors each.
    ///
    /// # Safety
    /// The blocks are valid for reading `n` elements.
    #[inline(always)]
    unsafe fn fold_blocks<S: Simd>(self, blocks: [*const Self::In; STREAMS], n: usize) -> [Self::Vector<S>; STREAMS] {
        let mut results = [self.identity::<S>(); STREAMS];
        for (result, block) in results.iter_mut().zip(blocks) {
            // SAFETY: the caller vouches for each block.
            *result = unsafe { self.fold_block::<S>(block, n) };
        }
        results
    }

    /// Combines rows, and adds them to the accumulators.
    ///
    /// # Safety
    /// The rows are valid for reading `width` elements; `acc` holds as many accumulators, rounded up to whole vectors.
    #[inline(always)]
    unsafe fn add_rows<S: Simd, const N: usize>(self, rows: [*const Self::In; N], width: usize, acc: *mut Self::Acc) {
        let lanes = Self::lanes::<S>();
        let mut i = 0;
        // SAFETY: reads of rows end at or before element `width`; accumulators are whole vectors.
        unsafe {
            while i + lanes <= width {
                let mut sum = self.load::<S>(rows[0].add(i));
                for row in rows.iter().skip(1) {
                    sum = self.combine::<S>(sum, self.load::<S>(row.add(i)));
                }
                let acc = acc.add(i);
                self.write::<S>(self.combine::<S>(self.read::<S>(acc), sum), acc);
                i += lanes;
            }
            if i < width {
                let acc = acc.add(i);
                let mut sum = self.read::<S>(acc);
                for row in rows {
                    sum = self.combine::<S>(sum, self.load_partial::<S>(row.add(i), width - i));
                }
                self.write::<S>(sum, acc);
            }
        }
    }
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
    /// Where there are registers enough for all.
    #[inline(always)]
    fn streams<S: Simd>() -> usize {
        if S::ISA == Isa::Avx512 && size_of::<E>() >= size_of::<f32>() { STREAMS } else { 1 }
    }
    /// The bits are those of one block after the other.
    #[inline(always)]
    unsafe fn fold_blocks<S: Simd>(self, blocks: [*const E; STREAMS], n: usize) -> [VectorOf<E, S>; STREAMS] {
        const CHAINS: usize = 4;
        let lanes = VectorOf::<E, S>::LANES;
        let mut results = [self.identity::<S>(); STREAMS];
        // SAFETY: every read ends at or before element `n` of a block.
        unsafe {
            let mut sums = [[self.identity::<S>(); CHAINS]; STREAMS];
            for (sums, block) in sums.iter_mut().zip(blocks) {
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = self.load::<S>(block.add(c * lanes));
                }
            }
            for i in (CHAINS * lanes..n).step_by(CHAINS * lanes) {
                for (sums, block) in sums.iter_mut().zip(blocks) {
                    for (c, sum) in sums.iter_mut().enumerate() {
                        *sum = self.combine::<S>(*sum, self.load::<S>(block.add(i + c * lanes)));
                    }
                }
            }
            for (result, [a, b, c, d]) in results.iter_mut().zip(sums) {
                *result = self.combine::<S>(self.combine::<S>(a, b), self.combine::<S>(c, d));
            }
        }
        results
    }
    #[inline(always)]
    fn fold_lanes<S: Simd>(self, v: VectorOf<E, S>) -> VectorOf<E, S> {
        Vector::splat_elem(v.fold(
            #[inline(always)]
            |a, b| self.reducer.combine(a, b),
        ))
    }
    #[inline(always)]
    unsafe fn fold_rows<S: Simd>(self, rows: *const E, step: usize, len: usize) -> Option<VectorOf<E, S>> {
        if S::ISA == Isa::Portable {
            return None;
        }
        let mut folded = [self.identity::<S>(); 16];
        for (i, folded) in folded[..VectorOf::<E, S>::LANES].iter_mut().enumerate() {
            // SAFETY: there is a row for each lane.
            *folded = unsafe { self.fold_block::<S>(rows.add(i * step), len) };
        }
        Some(Vector::fold_each(
            folded,
            #[inline(always)]
            |a, b| self.reducer.combine(a, b),
        ))
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
    /// Bool or u8, of which the bits `turned` are turned over.
    Byte {
        turned: u8,
    },
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
