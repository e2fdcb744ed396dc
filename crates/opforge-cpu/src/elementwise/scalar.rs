//! Steps over elements of any type, by plain loops of fixed length that the compiler vectorises.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::block::{Block, Body, walk};
use crate::simd::{Routine, Simd};

/// Elements that are computed at once: so many that the compiler vectorises the loop over them instead of unrolling it.
const CHUNK: usize = 128;

/// A function of `K` elements of one type.
pub(super) trait ScalarMap<const K: usize>: Send + Sync + 'static {
    type In: Copy + 'static;
    type Out: Copy + 'static;
    /// Whether [`fails`](ScalarMap::fails) can return true.
    const CAN_FAIL: bool = false;

    fn map(&self, x: [Self::In; K]) -> Self::Out;
    /// Whether the operator has no result for these values; the kernel then reports an error after the loop.
    #[inline(always)]
    fn fails(&self, _: [Self::In; K]) -> bool {
        false
    }
}

/// The step of a [`ScalarMap`].
pub(super) struct ScalarStep<F, const K: usize>(pub F);

struct ScalarBody<'a, F, const K: usize> {
    f: &'a F,
    failed: bool,
    arity: PhantomData<[(); K]>,
}

impl<const K: usize, F: ScalarMap<K>> Body<K> for ScalarBody<'_, F, K> {
    const CHUNK: usize = CHUNK;
    const SIZES: [usize; K] = [size_of::<F::In>(); K];
    const OUT_SIZE: usize = size_of::<F::Out>();

    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe { to.cast::<[F::In; CHUNK]>().write_unaligned([from.cast::<F::In>().read(); CHUNK]) }
    }
    #[inline(always)]
    unsafe fn whole(&mut self, x: [*const u8; K], out: *mut u8) {
        // The output may be an input: results stay apart until all is read, so that the loop vectorises.
        let mut y = [const { MaybeUninit::<F::Out>::uninit() }; CHUNK];
        // SAFETY: the caller's.
        unsafe {
            for (i, y) in y.iter_mut().enumerate() {
                let x = elements(&x, i);
                self.failed |= F::CAN_FAIL && self.f.fails(x);
                y.write(self.f.map(x));
            }
            out.cast::<[MaybeUninit<F::Out>; CHUNK]>().write_unaligned(y);
        }
    }
    #[inline(always)]
    unsafe fn part(&mut self, x: [*const u8; K], out: *mut u8, n: usize) {
        for i in 0..n {
            // SAFETY: the caller's.
            unsafe {
                let x = elements(&x, i);
                self.failed |= F::CAN_FAIL && self.f.fails(x);
                out.cast::<F::Out>().add(i).write(self.f.map(x));
            }
        }
    }
}

/// The `i`-th element of every input.
///
/// # Safety
/// Each is readable there.
#[inline(always)]
unsafe fn elements<T: Copy, const K: usize>(x: &[*const u8; K], i: usize) -> [T; K] {
    // SAFETY: the caller's.
    std::array::from_fn(|k| unsafe { x[k].cast::<T>().add(i).read() })
}

impl<const K: usize, F: ScalarMap<K>> Routine for ScalarStep<F, K> {
    type Args = *const Block<K>;
    type Output = bool;
    // Compiled for eight integer types; 128-bit vectors keep up with memory.
    const AVX2: bool = false;
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, block: *const Block<K>) -> bool {
        let mut body = ScalarBody { f: &self.0, failed: false, arity: PhantomData };
        // SAFETY: the caller vouches for the block.
        unsafe { walk(&mut body, &*block) };
        body.failed
    }
}

/// Chooses between two elements of type `T` by a byte.
pub(super) struct SelectStep<T>(pub PhantomData<T>);

impl<T: Copy> Body<3> for SelectStep<T> {
    const CHUNK: usize = CHUNK;
    const SIZES: [usize; 3] = [1, size_of::<T>(), size_of::<T>()];
    const OUT_SIZE: usize = size_of::<T>();

    #[inline(always)]
    unsafe fn splat(&self, k: usize, from: *const u8, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe {
            if k == 0 {
                to.cast::<[u8; CHUNK]>().write_unaligned([from.read(); CHUNK]);
            } else {
                to.cast::<[T; CHUNK]>().write_unaligned([from.cast::<T>().read(); CHUNK]);
            }
        }
    }
    #[inline(always)]
    unsafe fn whole(&mut self, [c, a, b]: [*const u8; 3], out: *mut u8) {
        // SAFETY: the caller's; all is read before anything is written.
        unsafe {
            let c = c.cast::<[u8; CHUNK]>().read_unaligned();
            let (a, b) = (a.cast::<[T; CHUNK]>().read_unaligned(), b.cast::<[T; CHUNK]>().read_unaligned());
            let y: [T; CHUNK] = std::array::from_fn(|i| if c[i] != 0 { a[i] } else { b[i] });
            out.cast::<[T; CHUNK]>().write_unaligned(y);
        }
    }
    #[inline(always)]
    unsafe fn part(&mut self, [c, a, b]: [*const u8; 3], out: *mut u8, n: usize) {
        for i in 0..n {
            // SAFETY: the caller's.
            unsafe {
                let (a, b) = (a.cast::<T>().add(i).read(), b.cast::<T>().add(i).read());
                out.cast::<T>().add(i).write(if c.add(i).read() != 0 { a } else { b });
            }
        }
    }
}

impl<T: Copy> Routine for SelectStep<T> {
    type Args = *const Block<3>;
    type Output = bool;
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, block: *const Block<3>) -> bool {
        // SAFETY: the caller vouches for the block.
        unsafe { walk(&mut SelectStep::<T>(PhantomData), &*block) };
        false
    }
}
