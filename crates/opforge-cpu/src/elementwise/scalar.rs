//! Steps over elements of any type, by plain loops of fixed length that the compiler vectorises.

use std::hint::select_unpredictable;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::block::{Block, Body, SPLAT_BYTES, Splat, advanced, steps, walk};
use crate::simd::{Routine, Simd};

/// A function of `K` elements of one type.
pub(super) trait ScalarMap<const K: usize>: Copy + Send + Sync + 'static {
    type In: Copy + 'static;
    type Out: Copy + 'static;
    /// Whether [`fails`](ScalarMap::fails) can return true.
    const CAN_FAIL: bool = false;
    /// False where vectors of more than 128 bits bring nothing.
    const AVX2: bool = true;
    /// True where AVX-512 has instructions that AVX2 lacks.
    const AVX512: bool = false;

    fn map(&self, x: [Self::In; K]) -> Self::Out;
    /// Whether the operator has no result for these values; the kernel then reports an error after the loop.
    #[inline(always)]
    fn fails(&self, _: [Self::In; K]) -> bool {
        false
    }
}

/// The step of a [`ScalarMap`].
pub(super) struct ScalarStep<F, const K: usize>(pub F);

struct ScalarBody<F, const K: usize> {
    f: F,
    failed: bool,
    arity: PhantomData<[(); K]>,
}

/// Elements of at most `size` bytes that are computed at once.
const fn chunk(size: usize) -> usize {
    SPLAT_BYTES / if size == 0 { 1 } else { size }
}

/// Rows shorter than this are computed an element at a time.
const SHORT: usize = 16;

/// Computes `n` elements, `chunk` of them at a time.
///
/// The output may be an input: a chunk's results stay apart until all is read, so that its loop vectorises.
///
/// # Safety
/// As [`Body::row`], for inputs whose elements have these sizes; `chunk` elements of every type fit a [`Splat`].
#[inline(always)]
unsafe fn map_row<T: Copy, const K: usize>(
    mut x: [*const u8; K],
    repeated: [bool; K],
    mut sizes: [usize; K],
    out: *mut u8,
    n: usize,
    chunk: usize,
    mut map: impl FnMut(&[*const u8; K], usize) -> T,
) {
    if n < SHORT {
        for i in 0..n {
            // Volatile, or this loop would become a second one of vectors. SAFETY: the row has `n` elements.
            unsafe { out.cast::<T>().add(i).write_volatile(map(&x, i)) };
        }
        return;
    }
    let mut results = MaybeUninit::<Splat>::uninit();
    let results = results.as_mut_ptr().cast::<T>();
    for size in &mut sizes {
        *size *= chunk;
    }
    let step = steps(repeated, sizes);
    let mut out = out.cast::<T>();
    let mut left = n;
    while left > 0 {
        let count = left.min(chunk);
        for i in 0..count {
            // SAFETY: a chunk's results fit.
            unsafe { results.add(i).write(map(&x, i)) };
        }
        // SAFETY: the row has `left` more elements, and the chunk's results are written.
        unsafe { out.copy_from_nonoverlapping(results, count) };
        x = advanced(x, step);
        out = out.wrapping_add(chunk);
        left -= count;
    }
}

/// The `i`-th element of each input.
///
/// # Safety
/// The inputs are readable for it.
#[inline(always)]
unsafe fn elements<T: Copy, const K: usize>(x: &[*const u8; K], i: usize) -> [T; K] {
    let mut values = [const { MaybeUninit::<T>::uninit() }; K];
    for k in 0..K {
        // SAFETY: the caller vouches for the element.
        values[k].write(unsafe { x[k].cast::<T>().add(i).read() });
    }
    // SAFETY: all `K` have been written; an array of them has the same layout.
    unsafe { (&raw const values).cast::<[T; K]>().read() }
}

/// Writes an element `n` times.
///
/// # Safety
/// `from` is readable for a `T`, `to` writable for `n`.
#[inline(always)]
unsafe fn fill<T: Copy>(from: *const u8, to: *mut u8, n: usize) {
    /// # Safety
    /// As the outer function.
    #[inline(never)]
    unsafe fn fill<Bits: Copy>(from: *const u8, to: *mut u8, n: usize) {
        // SAFETY: one element of this size is readable, and `i` is below `n`, for which `to` is writable.
        unsafe {
            let bits = from.cast::<Bits>().read_unaligned();
            (0..n).for_each(|i| to.cast::<Bits>().add(i).write_unaligned(bits));
        }
    }
    // By size, since types are many. SAFETY: the arm's type has the size of a `T`; `from` holds one, and `to` has room for `n`.
    unsafe {
        match size_of::<T>() {
            0 => {}
            1 => fill::<u8>(from, to, n),
            2 => fill::<u16>(from, to, n),
            4 => fill::<u32>(from, to, n),
            8 => fill::<u64>(from, to, n),
            16 => fill::<u128>(from, to, n),
            _ => unreachable!("elements have at most 16 bytes"),
        }
    }
}

impl<const K: usize, F: ScalarMap<K>> ScalarBody<F, K> {
    const CHUNK: usize = {
        let (x, y) = (size_of::<F::In>(), size_of::<F::Out>());
        chunk(if x > y { x } else { y })
    };
}

impl<const K: usize, F: ScalarMap<K>> Body<K> for ScalarBody<F, K> {
    #[inline(always)]
    unsafe fn splat(&self, _: usize, from: *const u8, to: *mut u8, n: usize) {
        // SAFETY: a [`Splat`] holds `CHUNK` elements, and `from` is one.
        unsafe { fill::<F::In>(from, to, n.min(Self::CHUNK)) }
    }
    #[inline(always)]
    unsafe fn row(&mut self, x: [*const u8; K], repeated: [bool; K], out: *mut u8, n: usize) {
        let sizes = [size_of::<F::In>(); K];
        // SAFETY: a row's `i`-th element is readable, and repeated ones are in the splat for a chunk.
        unsafe {
            map_row(
                x,
                repeated,
                sizes,
                out,
                n,
                Self::CHUNK,
                #[inline(always)]
                |x, i| {
                    let x = elements::<F::In, K>(x, i);
                    self.failed |= F::CAN_FAIL && self.f.fails(x);
                    self.f.map(x)
                },
            );
        }
    }
}

impl<const K: usize, F: ScalarMap<K>> Routine for ScalarStep<F, K> {
    type Args = *const Block<K>;
    type Output = bool;
    const AVX2: bool = F::AVX2;
    const AVX512: bool = F::AVX512;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, block: *const Block<K>) -> bool {
        let mut body = ScalarBody { f: self.0, failed: false, arity: PhantomData };
        // SAFETY: the block, valid for its elements of the function's types, outlives the walk.
        unsafe { walk(&mut body, &*block) };
        body.failed
    }
}

/// Chooses between two elements of type `T` by a byte.
pub(super) struct SelectStep<T>(pub PhantomData<T>);

impl<T: Copy> Body<3> for SelectStep<T> {
    #[inline(always)]
    unsafe fn splat(&self, k: usize, from: *const u8, to: *mut u8, n: usize) {
        let n = n.min(chunk(size_of::<T>()));
        // SAFETY: `n` is at most a chunk of the wider type, which a [`Splat`] holds; `from` is an element of input `k`.
        unsafe { if k == 0 { fill::<u8>(from, to, n) } else { fill::<T>(from, to, n) } }
    }
    #[inline(always)]
    unsafe fn row(&mut self, x: [*const u8; 3], repeated: [bool; 3], out: *mut u8, n: usize) {
        let sizes = [1, size_of::<T>(), size_of::<T>()];
        // SAFETY: each input has an `i`-th element in the row, or in its splat for a chunk; the first are truth values.
        unsafe {
            map_row(
                x,
                repeated,
                sizes,
                out,
                n,
                chunk(size_of::<T>()),
                #[inline(always)]
                |&[c, a, b], i| {
                    let (c, a, b) = (c.add(i).read(), a.cast::<T>().add(i).read(), b.cast::<T>().add(i).read());
                    select_unpredictable(c != 0, a, b)
                },
            );
        }
    }
}

impl<T: Copy> Routine for SelectStep<T> {
    type Args = *const Block<3>;
    type Output = bool;
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, block: *const Block<3>) -> bool {
        // SAFETY: the block's first input is bytes, the others and the output are elements of `T`; it outlives the walk.
        unsafe { walk(&mut SelectStep::<T>(PhantomData), &*block) };
        false
    }
}
