//! Reductions to mean and variance, in one pass.

use super::expect_output;
use super::fold::Fold;
use super::kernel::prepare;
use super::plan::{Plan, check_output, split};
use crate::simd::stored::{StoredFloat, VectorOf, store_strided};
use crate::simd::{Float, Simd, Vector};
use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Room;
use opforge_tile::forms::Spread;
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernel for a [`Spread`] of floats; otherwise as [`super::reduce`] says.
///
/// The variance does not cancel: moments of parts are combined by the formulas of Chan, Golub and LeVeque (1979). Where squares overflow, elements
/// are multiplied by a small number first, so that a result is finite if it can be, and NaN only if an element is NaN or infinite.
///
/// # Errors
/// Dtypes other than floats, an axis out of range, an output of another size or dtype.
pub fn spread(op: &'static str, form: &Spread, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let (kept, reduced) = split(op, input, &form.axes)?;
    check_output(op, output, &kept)?;
    expect_output(op, output.dtype, &[input.dtype])?;
    let (plan, correction) = (Plan::without_narrow(kept, reduced), form.correction.to_f64());
    match input.dtype {
        DType::F16 => {
            Ok(prepare(Moments::<f16> { correction, root: form.root, scale: 1.0, element: PhantomData }, plan))
        }
        DType::BF16 => Ok(Guarded::<bf16>::prepare(correction, form.root, plan, output)),
        DType::F32 => Ok(Guarded::<f32>::prepare(correction, form.root, plan, output)),
        DType::F64 => Ok(Guarded::<f64>::prepare(correction, form.root, plan, output)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// A power of two that squares of the type's numbers, multiplied by it, do not overflow with, nor do many of them together.
pub(crate) fn shrink<E: StoredFloat>() -> f64 {
    2f64.powi(if size_of::<E::Compute>() == 8 { -600 } else { -100 })
}

/// The kernel for all numbers, and that for large ones, which runs where the first has results that are not finite.
struct Guarded<E> {
    plain: Arc<dyn HostKernel>,
    shrinking: Arc<dyn HostKernel>,
    outputs: usize,
    element: PhantomData<E>,
}

impl<E: StoredFloat> Guarded<E> {
    fn prepare(correction: f64, root: bool, plan: Plan, output: &Meta) -> Arc<dyn HostKernel> {
        let kernel = |scale| prepare(Moments::<E> { correction, root, scale, element: PhantomData }, plan.clone());
        let (plain, shrinking) = (kernel(1.0), kernel(shrink::<E>()));
        Arc::new(Guarded::<E> { plain, shrinking, outputs: output.elem_count(), element: PhantomData })
    }
}

impl<E: StoredFloat> HostKernel for Guarded<E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: both kernels were prepared for these buffers; the first has written all outputs.
        unsafe {
            self.plain.run(inputs, outputs)?;
            let results = std::slice::from_raw_parts(outputs[0].cast::<E>(), self.outputs);
            // Whole chunks at a time, which is compiled to vectors.
            let finite = |chunk: &[E]| chunk.iter().fold(true, |finite, x| finite & x.to_f64().is_finite());
            if results.chunks(256).all(finite) {
                return Ok(());
            }
            let plain = Room::copied(results)?;
            self.shrinking.run(inputs, outputs)?;
            let results = std::slice::from_raw_parts_mut(outputs[0].cast::<E>(), self.outputs);
            // Squares of numbers that are small already have vanished.
            let better = |(shrunk, plain): &(&mut E, &E)| plain.to_f64().is_finite() || shrunk.to_f64().is_nan();
            results.iter_mut().zip(&*plain).filter(better).for_each(|(result, plain)| *result = *plain);
            Ok(())
        }
    }

    fn cost(&self) -> u64 {
        self.plain.cost()
    }
}

/// The moments of one group of elements a lane.
#[derive(Clone, Copy)]
struct Group<V> {
    count: V,
    mean: V,
    squares: V,
}

impl<V: Vector> Group<V> {
    /// `d = mean_b - mean_a`, `n = n_a + n_b`: `mean = mean_a + d n_b / n`, `squares = squares_a + squares_b + d^2 n_a n_b / n`.
    #[inline(always)]
    fn combine(self, other: Self) -> Self {
        let count = self.count + other.count;
        // Two empty groups make an empty one.
        let share = other.count / V::select(count.eq(V::splat(0.0)), V::splat(1.0), count);
        let distance = other.mean - self.mean;
        let step = distance * share;
        // In this order, that an empty group on the left adds 0 whatever the distance.
        Group { count, mean: self.mean + step, squares: self.squares + other.squares + step * self.count * distance }
    }
}

struct Moments<E> {
    correction: f64,
    root: bool,
    /// What elements are multiplied by.
    scale: f64,
    element: PhantomData<E>,
}

impl<E> Clone for Moments<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for Moments<E> {}

/// Accumulators are stored a vector at a time: all counts, all means, all squares.
impl<E: StoredFloat> Fold for Moments<E> {
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
        // SAFETY: a vector of elements is readable at `ptr`.
        let x = unsafe { E::load::<S>(ptr) };
        Group { count: Float::splat(1.0), mean: x * Float::splat(self.scale), squares: Float::splat(0.0) }
    }
    #[inline(always)]
    unsafe fn load_partial<S: Simd>(self, ptr: *const E, n: usize) -> Self::Vector<S> {
        let (zero, one) = (Float::splat(0.0), Float::splat(1.0));
        let count = Float::select(VectorOf::<E, S>::first(n), one, zero);
        // SAFETY: `n` elements are readable at `ptr`, at most a vector.
        let x = unsafe { E::load_partial::<S>(ptr, n) };
        Group { count, mean: x * Float::splat(self.scale), squares: zero }
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
                    count: Vector::load_partial(lanes[0].as_ptr().add(half), half),
                    mean: Vector::load_partial(lanes[1].as_ptr().add(half), half),
                    squares: Vector::load_partial(lanes[2].as_ptr().add(half), half),
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
                count: Vector::load(ptr),
                mean: Vector::load(ptr.add(lanes)),
                squares: Vector::load(ptr.add(2 * lanes)),
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
        // An infinite or NaN mean makes the variance NaN, which the sum of squares may have missed.
        let squares = v.squares + v.mean * Float::splat(0.0);
        let variance = squares / Float::splat((count as f64 - self.correction).max(0.0));
        let unscale = Float::splat(1.0 / self.scale);
        // One factor after the other: the square of the inverse may overflow where the variance does not.
        let results = if self.root { variance.sqrt() * unscale } else { variance * unscale * unscale };
        // SAFETY: `out` is writable for `n` outputs of type `E`, `out_stride` apart.
        unsafe { store_strided::<S, E>(results, n, out.cast(), out_stride) };
    }
    #[inline(always)]
    fn out_size(self) -> usize {
        size_of::<E>()
    }
}
