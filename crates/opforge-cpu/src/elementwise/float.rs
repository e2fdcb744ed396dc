//! Steps over vectors of floats, with floats or truth values as the result.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::block::{Block, Body, advanced, steps, walk};
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Float, FloatElem, Isa, Routine, Simd, Vector, VectorMask};

/// A function of `K` floats.
pub(super) trait FloatMap<const K: usize>: Copy + Send + Sync + 'static {
    /// Whether its code is so long that a partial vector should take the same as whole ones.
    const LONG: bool;
    /// Whether its code is so short that it waits for memory.
    const SHORT: bool;
    /// Whether its code is so short that there is some for halves as they are stored, too.
    const STORED: bool;

    fn map<V: Float>(&self, x: [V; K]) -> V;
}

/// From this many picoseconds an element on, a function counts as long.
const LONG: usize = 250;

/// Whether a function that takes so many picoseconds an element is long.
pub(super) const fn is_long(picoseconds: usize) -> bool {
    picoseconds >= LONG
}

/// Up to so many picoseconds an element, a function counts as short.
const SHORT: usize = 100;
/// Up to so many, halves are computed as they are stored: widening and rounding by way of memory takes as long as the function does.
const STORED: usize = 200;

/// Whether a function that takes so many picoseconds an element is short.
pub(super) const fn is_short(picoseconds: usize) -> bool {
    picoseconds <= SHORT
}

/// Whether a function that takes so many picoseconds an element is one of halves as they are stored.
pub(super) const fn is_stored(picoseconds: usize) -> bool {
    picoseconds <= STORED
}

/// A predicate of `K` floats.
pub(super) trait FloatTest<const K: usize>: Copy + Send + Sync + 'static {
    fn test<V: Float>(&self, x: [V; K]) -> V::Mask;
}

/// The step of a [`FloatMap`] over elements of type `E`.
pub(super) struct FloatStep<F, E, const K: usize>(pub F, pub PhantomData<E>);
/// The step of a [`FloatMap`] over halves of type `E`, for instruction sets that convert them.
pub(super) struct HalfStep<F, E, const K: usize>(pub F, pub PhantomData<E>);
/// The step of a [`FloatTest`] over elements of type `E`; the output is bytes 0 and 1.
pub(super) struct TestStep<F, E, const K: usize>(pub F, pub PhantomData<E>);

/// The function by value: what it is made of then stays in registers, which through a reference each write to the output might change.
struct MapBody<F, V>(F, PhantomData<V>);
struct TestBody<F, V>(F, PhantomData<V>);
struct HalfBody<F, E, S>(F, PhantomData<(E, S)>);

/// # Safety
/// As [`Vector::load_partial`] of every pointer.
#[inline(always)]
unsafe fn load<V: Vector, const K: usize>(x: [*const u8; K], n: usize) -> [V; K] {
    // A plain loop: what `array::map` calls is not sure to be inlined.
    let mut values = [V::splat(0.0); K];
    for (value, x) in values.iter_mut().zip(x) {
        // SAFETY: `x` is readable for `n` elements, at most a vector's.
        *value = unsafe { if n == V::LANES { V::load(x.cast()) } else { V::load_partial(x.cast(), n) } };
    }
    values
}

/// Computes the whole vectors of a row, then what is left. `vector` computes so many elements as it is told, and
/// must be `#[inline(always)]`, as all that is of vectors.
#[inline(always)]
fn row<V: Vector, const K: usize>(
    mut x: [*const u8; K],
    repeated: [bool; K],
    mut out: *mut u8,
    n: usize,
    out_size: usize,
    mut vector: impl FnMut([*const u8; K], *mut u8, usize),
) {
    let step = steps(repeated, [V::LANES * size_of::<V::Elem>(); K]);
    let mut left = n;
    while left >= V::LANES {
        vector(x, out, V::LANES);
        x = advanced(x, step);
        out = out.wrapping_add(V::LANES * out_size);
        left -= V::LANES;
    }
    if left > 0 {
        vector(x, out, left);
    }
}

/// As [`row`] of a function whose code is long, which stands at one place only: what is left after the whole vectors is copied to where it is
/// the beginning of one. `map` must be `#[inline(always)]`.
///
/// # Safety
/// As [`Body::row`].
#[inline(always)]
unsafe fn long_row<V: Vector, const K: usize>(
    mut x: [*const u8; K],
    repeated: [bool; K],
    mut out: *mut u8,
    n: usize,
    map: impl Fn([V; K]) -> V,
) {
    let mut step = steps(repeated, [V::LANES * size_of::<V::Elem>(); K]);
    let mut last = [MaybeUninit::<V>::uninit(); K];
    let mut result = MaybeUninit::<V>::uninit();
    let (mut left, mut rest) = (n, None);
    // SAFETY: whole vectors are within the row; `rest` elements at `to` are its end, and those of `last` and `result` are whole vectors.
    unsafe {
        loop {
            while left >= V::LANES {
                map(load(x, V::LANES)).store(out.cast());
                x = advanced(x, step);
                out = out.wrapping_add(V::LANES * size_of::<V::Elem>());
                left -= V::LANES;
            }
            if let Some((to, rest)) = rest {
                return V::load(result.as_ptr().cast()).store_partial(to, rest);
            }
            if left == 0 {
                return;
            }
            for (x, last) in x.iter_mut().zip(&mut last) {
                V::load_partial(x.cast(), left).store(last.as_mut_ptr().cast());
                *x = last.as_ptr().cast();
            }
            rest = Some((out.cast(), left));
            (out, left, step) = (result.as_mut_ptr().cast(), V::LANES, [0; K]);
        }
    }
}

impl<const K: usize, F: FloatMap<K>, V: Vector> Body<K> for MapBody<F, V> {
    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8, _: usize) {
        // SAFETY: `from` has an element, and `to` is a [`Splat`], which holds more than a vector.
        unsafe { V::splat_elem(from.cast::<V::Elem>().read()).store(to.cast()) }
    }
    #[inline(always)]
    unsafe fn row(&mut self, x: [*const u8; K], repeated: [bool; K], out: *mut u8, n: usize) {
        if F::LONG {
            // SAFETY: the row's inputs and its output are as `long_row` asks, which is what `row` does.
            return unsafe {
                long_row(
                    x,
                    repeated,
                    out,
                    n,
                    #[inline(always)]
                    |x| self.0.map::<V>(x),
                )
            };
        }
        row::<V, K>(
            x,
            repeated,
            out,
            n,
            size_of::<V::Elem>(),
            #[inline(always)]
            |x, out, n| {
                // SAFETY: `n` elements of the row are here.
                unsafe {
                    let y = self.0.map::<V>(load(x, n));
                    if n == V::LANES { y.store(out.cast()) } else { y.store_partial(out.cast(), n) }
                }
            },
        );
    }
}

impl<const K: usize, F: FloatMap<K>, E: StoredFloat, S: Simd> Body<K> for HalfBody<F, E, S> {
    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8, _: usize) {
        // SAFETY: `from` has an element, and `to` is a [`Splat`](super::block::Splat), which holds more than any vector has.
        unsafe { to.cast::<[E; 16]>().write([from.cast::<E>().read(); 16]) }
    }
    #[inline(always)]
    unsafe fn row(&mut self, mut x: [*const u8; K], repeated: [bool; K], out: *mut u8, n: usize) {
        let (lanes, mut out) = (VectorOf::<E, S>::LANES, out.cast::<E>());
        let step = steps(repeated, [lanes * size_of::<E>(); K]);
        let mut values = [VectorOf::<E, S>::splat(0.0); K];
        let mut left = n;
        // SAFETY: whole vectors are within the row, and the last is of what is left.
        unsafe {
            while left >= lanes {
                for (value, x) in values.iter_mut().zip(x) {
                    *value = E::load::<S>(x.cast());
                }
                E::store::<S>(self.0.map(values), out);
                x = advanced(x, step);
                out = out.wrapping_add(lanes);
                left -= lanes;
            }
            if left > 0 {
                for (value, x) in values.iter_mut().zip(x) {
                    *value = E::load_partial::<S>(x.cast(), left);
                }
                E::store_partial::<S>(self.0.map(values), out, left);
            }
        }
    }
}

impl<const K: usize, F: FloatTest<K>, V: Vector> Body<K> for TestBody<F, V> {
    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8, _: usize) {
        // SAFETY: `from` points to an element, `to` to a [`Splat`], longer than any vector.
        unsafe { V::splat_elem(from.cast::<V::Elem>().read()).store(to.cast()) }
    }
    #[inline(always)]
    unsafe fn row(&mut self, x: [*const u8; K], repeated: [bool; K], out: *mut u8, n: usize) {
        row::<V, K>(
            x,
            repeated,
            out,
            n,
            1,
            #[inline(always)]
            |x, out, n| {
                // SAFETY: `n` elements of the row are here; truth values are bytes.
                unsafe { self.0.test::<V>(load(x, n)).store_bools(out, n) }
            },
        );
    }
}

/// Implements [`Routine`] for a step by walking its body; a float step never fails.
macro_rules! routine {
    ($step:ident, $map:ident, $body:ident, $avx512:expr) => {
        impl<const K: usize, F: $map<K>, E: FloatElem> Routine for $step<F, E, K> {
            type Args = *const Block<K>;
            type Output = bool;
            const AVX512: bool = $avx512;

            #[inline(always)]
            unsafe fn run<S: Simd>(&self, block: *const Block<K>) -> bool {
                // SAFETY: the block's pointers are valid for its elements, of the step's type, while it is borrowed.
                unsafe { walk(&mut $body::<F, E::Vector<S>>(self.0, PhantomData), &*block) };
                false
            }
        }
    };
}
// What is short waits for the caches and for memory, which 512 bits at a time make no faster.
routine!(FloatStep, FloatMap, MapBody, !F::SHORT);
routine!(TestStep, FloatTest, TestBody, true);

impl<const K: usize, F: FloatMap<K>, E: StoredFloat> Routine for HalfStep<F, E, K> {
    type Args = *const Block<K>;
    type Output = bool;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, block: *const Block<K>) -> bool {
        if matches!(S::ISA, Isa::Portable) {
            unreachable!("halves are widened in tiles");
        }
        // SAFETY: the block's pointers are valid for its elements, of the step's type, while it is borrowed.
        unsafe { walk(&mut HalfBody::<F, E, S>(self.0, PhantomData), &*block) };
        false
    }
}
