//! Reductions to mean and variance, in one pass.

use super::expect_output;
use super::fold::Fold;
use super::kernel::prepare;
use super::plan::{Plan, check_output, split};
use crate::simd::{Float, Simd};
use crate::stored::{StoredFloat, VectorOf, store_strided};
use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::Kernel;
use std::marker::PhantomData;
use std::sync::Arc;

/// What becomes of the moments of the reduced elements.
pub trait Moments: Copy + Send + Sync + 'static {
    /// The result from the mean, the sum of squared distances from it, and the number of elements.
    fn finish<V: Float>(self, mean: V, squares: V, count: f64) -> V;
}

/// Reduces floats to a function of their mean and variance over `axes`; otherwise as [`super::reduce`] says.
///
/// The variance does not cancel: moments of parts are combined by the formulas of Chan, Golub and LeVeque (1979).
///
/// # Errors
/// Dtypes other than floats, an axis out of range, an output of another size or dtype.
pub fn reduce_moments<M: Moments>(
    op: &'static str,
    moments: M,
    input: &Meta,
    axes: &[usize],
    output: &Meta,
) -> Result<Arc<dyn Kernel>> {
    let (kept, reduced) = split(op, input, axes)?;
    check_output(op, output, &kept)?;
    expect_output(op, output.dtype, &[input.dtype])?;
    let plan = Plan::without_narrow(kept, reduced);
    match input.dtype {
        DType::F16 => Ok(prepare(MomentsFold::<M, f16>::new(moments), plan)),
        DType::BF16 => Ok(prepare(MomentsFold::<M, bf16>::new(moments), plan)),
        DType::F32 => Ok(prepare(MomentsFold::<M, f32>::new(moments), plan)),
        DType::F64 => Ok(prepare(MomentsFold::<M, f64>::new(moments), plan)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// The moments of one group of elements a lane.
#[derive(Clone, Copy)]
struct Group<V> {
    count: V,
    mean: V,
    squares: V,
}

impl<V: Float> Group<V> {
    /// `d = mean_b - mean_a`, `n = n_a + n_b`: `mean = mean_a + d n_b / n`, `squares = squares_a + squares_b + d^2 n_a n_b / n`.
    #[inline(always)]
    fn combine(self, other: Self) -> Self {
        let count = self.count + other.count;
        // Two empty groups make an empty one.
        let share = other.count / V::select(count.eq(V::splat(0.0)), V::splat(1.0), count);
        let distance = other.mean - self.mean;
        let step = distance * share;
        Group { count, mean: self.mean + step, squares: self.squares + other.squares + step * distance * self.count }
    }
}

struct MomentsFold<M, E> {
    moments: M,
    element: PhantomData<E>,
}

impl<M, E> MomentsFold<M, E> {
    fn new(moments: M) -> Self {
        MomentsFold { moments, element: PhantomData }
    }
}
impl<M: Copy, E> Clone for MomentsFold<M, E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Copy, E> Copy for MomentsFold<M, E> {}

/// Accumulators are stored a vector at a time: all counts, all means, all squares.
impl<M: Moments, E: StoredFloat> Fold for MomentsFold<M, E> {
    type In = E;
    type Acc = [E::Compute; 3];
    type Vector<S: Simd> = Group<VectorOf<E, S>>;
    const AVX512: bool = true;

    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        VectorOf::<E, S>::LANES
    }
    #[inline(always)]
    fn identity<S: Simd>(self) -> Self::Vector<S> {
        let zero = Float::splat(0.0);
        Group { count: zero, mean: zero, squares: zero }
    }
    #[inline(always)]
    unsafe fn load<S: Simd>(self, ptr: *const E) -> Self::Vector<S> {
        // SAFETY: the caller's.
        Group { count: Float::splat(1.0), mean: unsafe { E::load::<S>(ptr) }, squares: Float::splat(0.0) }
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const E, n: usize) -> Self::Vector<S> {
        let (zero, one) = (Float::splat(0.0), Float::splat(1.0));
        let count = Float::select(VectorOf::<E, S>::first(n), one, zero);
        // SAFETY: the caller's.
        Group { count, mean: unsafe { E::load_partial::<S>(ptr, n) }, squares: zero }
    }
    #[inline(always)]
    fn combine<S: Simd>(self, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
        a.combine(b)
    }
    #[inline(always)]
    fn fold_lanes<S: Simd>(self, mut v: Self::Vector<S>) -> Self::Vector<S> {
        let mut lanes = [[E::Compute::default(); 16]; 3];
        let mut half = Self::lanes::<S>();
        while half > 1 {
            half /= 2;
            // SAFETY: each array holds as many lanes as any vector; the upper half moves down, and what it leaves is not read.
            unsafe {
                v.count.store(lanes[0].as_mut_ptr());
                v.mean.store(lanes[1].as_mut_ptr());
                v.squares.store(lanes[2].as_mut_ptr());
                v = v.combine(Group {
                    count: Float::load_partial(lanes[0].as_ptr().add(half), half),
                    mean: Float::load_partial(lanes[1].as_ptr().add(half), half),
                    squares: Float::load_partial(lanes[2].as_ptr().add(half), half),
                });
            }
        }
        v
    }
    #[inline(always)]
    unsafe fn read<S: Simd>(self, ptr: *const [E::Compute; 3]) -> Self::Vector<S> {
        let (ptr, lanes) = (ptr.cast::<E::Compute>(), Self::lanes::<S>());
        // SAFETY: the caller vouches for `lanes` accumulators of three numbers.
        unsafe {
            Group {
                count: Float::load(ptr),
                mean: Float::load(ptr.add(lanes)),
                squares: Float::load(ptr.add(2 * lanes)),
            }
        }
    }
    #[inline(always)]
    unsafe fn write<S: Simd>(self, v: Self::Vector<S>, ptr: *mut [E::Compute; 3]) {
        let (ptr, lanes) = (ptr.cast::<E::Compute>(), Self::lanes::<S>());
        // SAFETY: the caller vouches for `lanes` accumulators of three numbers.
        unsafe {
            v.count.store(ptr);
            v.mean.store(ptr.add(lanes));
            v.squares.store(ptr.add(2 * lanes));
        }
    }
    #[inline(always)]
    unsafe fn finish<S: Simd>(self, v: Self::Vector<S>, n: usize, count: usize, out: *mut u8, out_stride: usize) {
        let results = self.moments.finish(v.mean, v.squares, count as f64);
        // SAFETY: the caller's.
        unsafe { store_strided::<S, E>(results, n, out.cast(), out_stride) };
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        size_of::<E>()
    }
}
