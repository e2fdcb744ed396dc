//! Which elements are normalised together, and sums of them.

use opforge_core::WithDType;
use opforge_runtime::checkpoint;

use crate::simd::stored::{StoredFloat, VectorOf, load_strided};
use crate::simd::{Simd, Vector};

/// Sets of elements with a mean and a variance each: `runs` runs of `len` elements, `stride` apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sets {
    pub count: usize,
    /// From one set to the next.
    pub step: usize,
    pub runs: usize,
    pub run_step: usize,
    pub len: usize,
    pub stride: usize,
    /// Sets with parameters of their own; those after them begin with the first's again.
    pub groups: usize,
    /// Whether each run has a weight and a bias, rather than each set.
    pub by_run: bool,
}

impl Sets {
    /// The channels of `[batch, channels, ..]`, each over the whole batch.
    pub fn of_batch(batch: usize, channels: usize, plane: usize) -> Self {
        let (runs, len, stride) = if plane == 1 { (1, batch, channels) } else { (batch, plane, 1) };
        let run_step = channels * plane;
        Sets { count: channels, step: plane, runs, run_step, len, stride, groups: channels, by_run: false }
    }

    /// Groups of the channels of `[batch, channels, ..]`, each of one element of the batch.
    pub fn of_groups(batch: usize, channels: usize, plane: usize, groups: usize) -> Self {
        let runs = channels / groups.max(1);
        let (count, step) = (batch * groups, runs * plane);
        Sets { count, step, runs, run_step: plane, len: plane, stride: 1, groups, by_run: true }
    }

    /// Elements of a set.
    pub fn elements(&self) -> usize {
        self.runs * self.len
    }

    /// The sets with one run each, where their runs lie one after the other.
    pub fn joined(self) -> Self {
        if self.by_run { Sets { runs: 1, len: self.elements(), ..self } } else { self }
    }

    /// The first element of a run.
    #[inline(always)]
    pub fn start(&self, set: usize, run: usize) -> usize {
        set * self.step + run * self.run_step
    }

    /// Numbered by sets, or by sets and runs: where there is a number for each with parameters.
    #[inline(always)]
    pub fn slot(&self, set: usize, run: usize) -> usize {
        if self.by_run { set * self.runs + run } else { set }
    }

    /// The weight and bias of a run.
    #[inline(always)]
    pub fn parameter(&self, set: usize, run: usize) -> usize {
        self.slot(set % self.groups, run)
    }

    /// Sums of `N` terms of every element of a run.
    ///
    /// # Safety
    /// The terms may be made of all of the run's elements.
    #[inline(always)]
    pub unsafe fn sum<V: Vector, const N: usize>(&self, start: usize, terms: &impl Terms<V, N>) -> [f64; N] {
        /// Elements whose terms are added up in their own type before they enter the whole sum.
        const BLOCK: usize = 1024;
        let mut sums = [0.0; N];
        for block in (0..self.len).step_by(BLOCK) {
            checkpoint();
            let end = self.len.min(block + BLOCK);
            let (mut even, mut odd) = ([V::splat(0.0); N], [V::splat(0.0); N]);
            let mut i = block;
            // SAFETY: `i` and the vector from there on stay below `end`, hence within the run's `len` elements.
            unsafe {
                while i + 2 * V::LANES <= end {
                    add(&mut even, terms.at(start + i * self.stride, V::LANES));
                    add(&mut odd, terms.at(start + (i + V::LANES) * self.stride, V::LANES));
                    i += 2 * V::LANES;
                }
                while i < end {
                    add(&mut even, terms.at(start + i * self.stride, V::LANES.min(end - i)));
                    i += V::LANES;
                }
            }
            add(&mut even, odd);
            for (sum, partial) in sums.iter_mut().zip(even) {
                *sum += partial.reduce_sum().to_f64();
            }
        }
        sums
    }
}

#[inline(always)]
fn add<V: Vector, const N: usize>(sums: &mut [V; N], terms: [V; N]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum = *sum + term;
    }
}

/// What is added up of each element. No closure: one that is called twice is not compiled in line, and then not for the instruction set.
pub(super) trait Terms<V, const N: usize> {
    /// The terms of `n` elements from index `at` on, at most a vector of them; zero in the lanes after them.
    ///
    /// # Safety
    /// The elements may be read.
    unsafe fn at(&self, at: usize, n: usize) -> [V; N];
}

/// Elements of a tensor, less a number and times another.
pub(super) struct Normalized<E: StoredFloat, S: Simd> {
    pub x: *const E,
    pub stride: usize,
    pub center: VectorOf<E, S>,
    pub scale: VectorOf<E, S>,
}

// Not derived, which would ask the same of `S`.
impl<E: StoredFloat, S: Simd> Copy for Normalized<E, S> {}
impl<E: StoredFloat, S: Simd> Clone for Normalized<E, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: StoredFloat, S: Simd> Normalized<E, S> {
    /// Up to a vector of elements.
    ///
    /// # Safety
    /// `n` elements from index `at` on may be read.
    #[inline(always)]
    pub unsafe fn load(&self, at: usize, n: usize) -> VectorOf<E, S> {
        // SAFETY: `n` elements from index `at` on are readable at `x`, `stride` apart, and `n` is at most the lanes.
        unsafe { (load_strided::<S, E>(self.x.add(at), n, self.stride) - self.center) * self.scale }
    }
}

/// Zeros in the lanes after the first `n`.
#[inline(always)]
pub(super) fn only<V: Vector>(v: V, n: usize) -> V {
    if n == V::LANES { v } else { V::select(V::first(n), v, V::splat(0.0)) }
}

/// The sum.
pub(super) struct Sum<E: StoredFloat, S: Simd>(pub Normalized<E, S>);

impl<E: StoredFloat, S: Simd> Terms<VectorOf<E, S>, 1> for Sum<E, S> {
    #[inline(always)]
    unsafe fn at(&self, at: usize, n: usize) -> [VectorOf<E, S>; 1] {
        // SAFETY: `n` elements from `at` on may be read, which are the tensor's of `self.0`.
        [only(unsafe { self.0.load(at, n) }, n)]
    }
}

/// The sum of squares.
pub(super) struct Squares<E: StoredFloat, S: Simd>(pub Normalized<E, S>);

impl<E: StoredFloat, S: Simd> Terms<VectorOf<E, S>, 1> for Squares<E, S> {
    #[inline(always)]
    unsafe fn at(&self, at: usize, n: usize) -> [VectorOf<E, S>; 1] {
        // SAFETY: the elements from `at` on, `n` of them, may be read.
        let x = unsafe { self.0.load(at, n) };
        [only(x * x, n)]
    }
}

/// The sums of a gradient and of its products with normalised elements.
pub(super) struct Products<E: StoredFloat, S: Simd> {
    pub normal: Normalized<E, S>,
    pub dy: *const E,
}

impl<E: StoredFloat, S: Simd> Terms<VectorOf<E, S>, 2> for Products<E, S> {
    #[inline(always)]
    unsafe fn at(&self, at: usize, n: usize) -> [VectorOf<E, S>; 2] {
        // SAFETY: `x` and `dy` may be read at the same `n` places from `at` on; lanes past them have a gradient of zero.
        unsafe {
            let dy = load_strided::<S, E>(self.dy.add(at), n, self.normal.stride);
            [dy, only(dy * self.normal.load(at, n), n)]
        }
    }
}
