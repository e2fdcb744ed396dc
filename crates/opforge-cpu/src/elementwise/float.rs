//! Steps over vectors of floats, with floats or truth values as the result.

use std::marker::PhantomData;

use super::block::{Block, Body, walk};
use crate::simd::{Float, FloatElem, Routine, Simd, Vector, VectorMask};

/// A function of `K` floats.
pub(super) trait FloatMap<const K: usize>: Send + Sync + 'static {
    fn map<V: Float>(&self, x: [V; K]) -> V;
}

/// A predicate of `K` floats.
pub(super) trait FloatTest<const K: usize>: Send + Sync + 'static {
    fn test<V: Float>(&self, x: [V; K]) -> V::Mask;
}

/// The step of a [`FloatMap`] over elements of type `E`.
pub(super) struct FloatStep<F, E, const K: usize>(pub F, pub PhantomData<E>);
/// The step of a [`FloatTest`] over elements of type `E`; the output is bytes 0 and 1.
pub(super) struct TestStep<F, E, const K: usize>(pub F, pub PhantomData<E>);

struct MapBody<'a, F, V>(&'a F, PhantomData<V>);
struct TestBody<'a, F, V>(&'a F, PhantomData<V>);

/// # Safety
/// As [`Vector::load_partial`] of every pointer.
#[inline(always)]
unsafe fn load<V: Vector, const K: usize>(x: [*const u8; K], n: usize) -> [V; K] {
    // SAFETY: the caller's.
    x.map(|x| unsafe { if n == V::LANES { V::load(x.cast()) } else { V::load_partial(x.cast(), n) } })
}

impl<const K: usize, F: FloatMap<K>, V: Vector> Body<K> for MapBody<'_, F, V> {
    const CHUNK: usize = V::LANES;
    const SIZES: [usize; K] = [size_of::<V::Elem>(); K];
    const OUT_SIZE: usize = size_of::<V::Elem>();

    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { V::splat_elem(from.cast::<V::Elem>().read()).store(to.cast()) }
    }
    #[inline(always)]
    unsafe fn whole(&mut self, x: [*const u8; K], out: *mut u8) {
        // SAFETY: the caller's.
        unsafe { self.0.map::<V>(load(x, V::LANES)).store(out.cast()) }
    }
    #[inline(always)]
    unsafe fn part(&mut self, x: [*const u8; K], out: *mut u8, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.0.map::<V>(load(x, n)).store_partial(out.cast(), n) }
    }
}

impl<const K: usize, F: FloatTest<K>, V: Vector> Body<K> for TestBody<'_, F, V> {
    const CHUNK: usize = V::LANES;
    const SIZES: [usize; K] = [size_of::<V::Elem>(); K];
    const OUT_SIZE: usize = 1;

    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { V::splat_elem(from.cast::<V::Elem>().read()).store(to.cast()) }
    }
    #[inline(always)]
    unsafe fn whole(&mut self, x: [*const u8; K], out: *mut u8) {
        // SAFETY: the caller's.
        unsafe { self.0.test::<V>(load(x, V::LANES)).store_bools(out, V::LANES) }
    }
    #[inline(always)]
    unsafe fn part(&mut self, x: [*const u8; K], out: *mut u8, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.0.test::<V>(load(x, n)).store_bools(out, n) }
    }
}

/// Implements [`Routine`] for a step by walking its body; a float step never fails.
macro_rules! routine {
    ($step:ident, $map:ident, $body:ident) => {
        impl<const K: usize, F: $map<K>, E: FloatElem> Routine for $step<F, E, K> {
            type Args = *const Block<K>;
            type Output = bool;

            #[inline(always)]
            unsafe fn run<S: Simd>(&self, block: *const Block<K>) -> bool {
                // SAFETY: the caller vouches for the block.
                unsafe { walk(&mut $body::<F, E::Vector<S>>(&self.0, PhantomData), &*block) };
                false
            }
        }
    };
}
routine!(FloatStep, FloatMap, MapBody);
routine!(TestStep, FloatTest, TestBody);
