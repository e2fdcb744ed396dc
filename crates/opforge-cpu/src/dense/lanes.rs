//! Small matrices, a vector of them at once: a lane is a matrix. Pivots are found lane by lane, rows exchanged under a mask. One matrix at a time,
//! what prepares each takes several times as long as what is computed.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_core::{Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use opforge_tile::math;
use smallvec::SmallVec;

use super::place::Place;
use super::{Dense, Failure, FirstFailure};
use crate::copy::Shared;
use crate::loops::work::grain;
use crate::simd::{Float, FloatElem, Prepared, Routine, Simd, Vector, VectorMask};

/// Matrices of up to this many rows, and columns of `B`.
const ROWS: usize = 8;
/// Fewer matrices than this leave most lanes empty: they are taken only with up to half as many rows.
const BATCH: usize = 4;
/// The elements of a matrix, and the lanes of a vector, at most.
const LEN: usize = ROWS * ROWS;
const LANES: usize = 16;

/// The kernel, of what is done here: square matrices of few rows.
pub(super) fn prepare<E: FloatElem>(
    op: &'static str,
    what: Dense,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Option<Arc<dyn HostKernel>> {
    let a = inputs[0];
    let lead = a.rank() - 2;
    let (n, batch) = (a.dims()[lead], a.dims()[..lead].iter().product());
    let columns = if what == Dense::Solve { *inputs.get(1)?.dims().get(lead + 1)? } else { 0 };
    let rows = if batch < BATCH { ROWS / 2 } else { ROWS };
    let fits = n == a.dims()[lead + 1] && (1..=rows).contains(&n) && columns <= ROWS;
    let all_alike = inputs.iter().chain(outputs).all(|meta| meta.dtype == E::DTYPE);
    if !(fits && all_alike && matches!(what, Dense::Cholesky | Dense::LogDet | Dense::Solve)) {
        return None;
    }
    let place = |meta: &&Meta| Place::new(meta, lead);
    let outputs = outputs.iter().map(place).collect();
    let places = Places { a: place(&a), b: inputs.get(1).map(place), outputs };
    let work = n * n * (n + columns) / LANES + 4 * (n * n + n * columns) + 4;
    Some(Arc::new(LanesKernel {
        op,
        batch,
        work,
        routine: Prepared::new(Several::<E> { what, n, columns, places, element: PhantomData }),
    }))
}

struct LanesKernel {
    op: &'static str,
    batch: usize,
    /// What a matrix costs, in elements of a plain loop.
    work: usize,
    routine: Prepared<Job, Option<(usize, Failure)>>,
}

/// Some matrices of a batch, and where the tensors are.
struct Job {
    inputs: [*const u8; 2],
    outputs: [*mut u8; 2],
    matrices: Range<usize>,
}

impl HostKernel for LanesKernel {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sources = [inputs[0], inputs.get(1).copied().unwrap_or(inputs[0])].map(Shared);
        let targets = [outputs[0], outputs.get(1).copied().unwrap_or(outputs[0])].map(Shared);
        let failed = FirstFailure::default();
        parallel_for(self.batch, grain(self.work), |matrices| {
            let inputs = [sources[0].get(), sources[1].get()];
            let outputs = [targets[0].get(), targets[1].get()];
            let job = Job { inputs, outputs, matrices };
            // SAFETY: the tensors are those whose places the routine holds; each matrix of the output is written by one thread.
            if let Some((index, failure)) = unsafe { self.routine.run(job) } {
                failed.note(index, failure);
            }
        });
        failed.outcome(self.op)
    }

    fn cost(&self) -> u64 {
        50 + (self.batch as u64).saturating_mul(self.work as u64)
    }
}

struct Places {
    a: Place,
    b: Option<Place>,
    outputs: SmallVec<[Place; 2]>,
}

struct Several<E> {
    what: Dense,
    n: usize,
    columns: usize,
    places: Places,
    element: PhantomData<E>,
}

impl<E: FloatElem> Routine for Several<E> {
    type Args = Job;
    type Output = Option<(usize, Failure)>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) -> Option<(usize, Failure)> {
        let zero = <E::Vector<S>>::splat(0.0);
        let (mut a, mut b) = ([zero; LEN], [zero; LEN]);
        let (n, lanes, end) = (self.n, <E::Vector<S>>::LANES, job.matrices.end);
        let mut failed = None;
        for first in job.matrices.step_by(lanes) {
            let count = lanes.min(end - first);
            // SAFETY: the places are those of the tensors, which hold these matrices; lanes beyond them get the identity.
            unsafe {
                read::<E, E::Vector<S>>(&self.places.a, job.inputs[0].cast(), (first, count), n, &mut a);
                if let Some(place) = &self.places.b {
                    read::<E, E::Vector<S>>(place, job.inputs[1].cast(), (first, count), self.columns, &mut b);
                }
            }
            let (bad, failure) = match self.what {
                Dense::LogDet => {
                    log_determinant(&mut a, n, &mut b);
                    (0, Failure::Singular)
                }
                Dense::Solve => (solve(&mut a, &mut b, n, self.columns), Failure::Singular),
                _ => (cholesky(&mut a, n), Failure::NotPositiveDefinite),
            };
            let result = if self.what == Dense::Cholesky { &a[..] } else { &b[..] };
            // Of determinants, the second output follows the first.
            let mut done = 0;
            for (place, to) in self.places.outputs.iter().zip(job.outputs) {
                // SAFETY: as above; this thread alone writes these matrices.
                unsafe { write::<E, E::Vector<S>>(place, to.cast(), (first, count), &result[done..]) };
                done += place.len();
            }
            let bad = bad & (u32::MAX >> (32 - count));
            if failed.is_none() && bad != 0 {
                failed = Some((first + bad.trailing_zeros() as usize, failure));
            }
        }
        failed
    }
}

/// The elements of some matrices, row by row, a vector each.
///
/// # Safety
/// `base` is valid for reads of the place's tensor, which has these matrices.
#[inline(always)]
unsafe fn read<E: FloatElem, V: Vector<Elem = E>>(
    place: &Place,
    base: *const E,
    (first, count): (usize, usize),
    columns: usize,
    to: &mut [V; LEN],
) {
    let mut starts = [0; LANES];
    (0..count).for_each(|lane| starts[lane] = place.offset(first + lane));
    for i in 0..place.rows {
        for j in 0..columns {
            let at = place.within(i, j);
            let mut elements = [E::from_f64(f64::from(u8::from(i == j))); LANES];
            for lane in 0..count {
                // SAFETY: the element of a matrix of the tensor.
                elements[lane] = unsafe { base.offset(starts[lane] as isize + at).read() };
            }
            // SAFETY: the array holds 16 elements, and LANES is at most 16.
            to[i * columns + j] = unsafe { V::load(elements.as_ptr()) };
        }
    }
}

/// Writes what [`read`] would read.
///
/// # Safety
/// `base` is valid for writes of the place's tensor, and nobody else touches these matrices.
#[inline(always)]
unsafe fn write<E: FloatElem, V: Vector<Elem = E>>(
    place: &Place,
    base: *mut E,
    (first, count): (usize, usize),
    from: &[V],
) {
    let mut starts = [0; LANES];
    (0..count).for_each(|lane| starts[lane] = place.offset(first + lane));
    for (i, j) in (0..place.rows).flat_map(|i| (0..place.columns).map(move |j| (i, j))) {
        let (at, mut elements) = (place.within(i, j), [E::default(); LANES]);
        // SAFETY: the array holds 16 elements, and LANES is at most 16; the elements are of matrices of the tensor.
        unsafe {
            from[i * place.columns + j].store(elements.as_mut_ptr());
            for lane in 0..count {
                base.offset(starts[lane] as isize + at).write(elements[lane]);
            }
        }
    }
}

/// Gauss's elimination of `A`, in whose exchanges and steps `B` takes part; the sign that the exchanges make.
#[inline(always)]
fn eliminate<V: Vector>(a: &mut [V; LEN], b: &mut [V; LEN], n: usize, columns: usize) -> V {
    let (mut sign, zero) = (V::splat(1.0), V::splat(0.0));
    for step in 0..n {
        for i in step + 1..n {
            let larger = a[i * n + step].abs().gt(a[step * n + step].abs());
            sign = V::select(larger, -sign, sign);
            (step..n).for_each(|j| exchange(a, step * n + j, i * n + j, larger));
            (0..columns).for_each(|j| exchange(b, step * columns + j, i * columns + j, larger));
        }
        let pivot = a[step * n + step];
        let none = pivot.eq(zero);
        for i in step + 1..n {
            let factor = V::select(none, zero, -(a[i * n + step] / pivot));
            (step + 1..n).for_each(|j| a[i * n + j] = factor.mul_add(a[step * n + j], a[i * n + j]));
            (0..columns).for_each(|j| b[i * columns + j] = factor.mul_add(b[step * columns + j], b[i * columns + j]));
        }
    }
    sign
}

#[inline(always)]
fn exchange<V: Vector>(x: &mut [V; LEN], i: usize, j: usize, mask: V::Mask) {
    (x[i], x[j]) = (V::select(mask, x[j], x[i]), V::select(mask, x[i], x[j]));
}

/// As `lu::log_determinant`, to the first elements of `result`.
#[inline(always)]
fn log_determinant<V: Vector>(a: &mut [V; LEN], n: usize, result: &mut [V; LEN]) {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let mut determinant = eliminate(a, result, n, 0);
    let (mut sign, mut log) = (determinant, zero);
    for step in 0..n {
        let pivot = a[step * n + step];
        let own = V::select(pivot.eq(zero), zero, V::select(pivot.is_nan(), pivot, one.copysign(pivot)));
        (sign, log, determinant) = (sign * own, log + math::log(pivot.abs()), determinant * pivot);
    }
    (result[0], result[1], result[2]) = (sign, log, determinant);
}

/// `X` of `A X = B` in place of `B`; the lanes of singular matrices.
#[inline(always)]
fn solve<V: Vector>(a: &mut [V; LEN], b: &mut [V; LEN], n: usize, columns: usize) -> u32 {
    eliminate(a, b, n, columns);
    let mut singular = 0;
    for step in (0..n).rev() {
        let pivot = a[step * n + step];
        singular |= pivot.eq(V::splat(0.0)).bitmask();
        for j in 0..columns {
            let known = b[step * columns + j] / pivot;
            b[step * columns + j] = known;
            (0..step).for_each(|i| b[i * columns + j] = (-a[i * n + step]).mul_add(known, b[i * columns + j]));
        }
    }
    singular
}

/// Cholesky's factor in place of `A`; the lanes of matrices that are not positive definite.
#[inline(always)]
fn cholesky<V: Vector>(a: &mut [V; LEN], n: usize) -> u32 {
    let (zero, infinity) = (V::splat(0.0), V::splat(f64::INFINITY));
    let mut good = u32::MAX;
    for step in 0..n {
        let pivot = a[step * n + step];
        good &= (pivot.gt(zero) & pivot.lt(infinity)).bitmask();
        let root = pivot.sqrt();
        a[step * n + step] = root;
        for i in step + 1..n {
            a[i * n + step] = a[i * n + step] / root;
            a[step * n + i] = zero;
        }
        for (i, j) in (step + 1..n).flat_map(|i| (step + 1..=i).map(move |j| (i, j))) {
            a[i * n + j] = (-a[i * n + step]).mul_add(a[j * n + step], a[i * n + j]);
        }
    }
    !good
}
