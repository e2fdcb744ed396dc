//! Eigenvalues and eigenvectors of a diagonal matrix and a product of one vector, `D + rho z z^T`, a lane each. The values are the roots of the secular
//! equation `1 / rho + sum z_i^2 / (d_i - x) = 0`, one between each two poles, found by rational functions with the poles beside it (Li, "Solving
//! secular equations stably and efficiently", 1993: the middle way). They are told as steps from the nearest pole, and the vectors are those of the `z`
//! to which the roots as found belong exactly, so that they are orthogonal (Gu and Eisenstat, "A stable and efficient algorithm for the rank-one
//! modification of the symmetric eigenproblem", 1994).

use std::ops::Range;

use opforge_core::WithDType;
use opforge_runtime::parallel::parallel_for;

use super::super::product::share;
use super::ql::epsilon;
use crate::copy::Shared;
use crate::simd::{Float, FloatElem, Isa, Routine, Simd, Vector, VectorMask, resolve};

/// Steps after which a root is taken as it is: bisection alone needs no more.
const STEPS: usize = 100;
/// The lanes of a vector at most.
const LANES: usize = 16;
/// Divisions, as they count among multiplications.
const DIVISION: usize = 8;

/// `D`, ascending, and squares of `z`, none of them 0; `rho` is positive. At least two of each.
pub(super) struct Equation<'a, E> {
    pub d: &'a [E],
    pub squares: &'a [E],
    pub rho: f64,
}

impl<E: FloatElem> Equation<'_, E> {
    /// The roots, as the poles next to them and steps from there.
    pub fn roots(&self, origins: &mut [E], steps: &mut [E]) {
        let len = self.d.len();
        assert!(len > 1 && [self.squares.len(), origins.len(), steps.len()] == [len; 3], "a root for each pole");
        let (entry, to) = (resolve::<Roots<E>>(Isa::current()), [origins, steps].map(|to| Shared(to.as_mut_ptr())));
        each(len, 4 * len * DIVISION, |range| {
            // SAFETY: the level is this processor's, and these elements of the slices are this call's.
            unsafe { entry(&Roots(self), (range, to.map(|to| to.get()))) };
        });
    }
}

/// Tasks in ranges of whole vectors.
fn each(len: usize, work: usize, body: impl Fn(Range<usize>) + Sync) {
    parallel_for(len, share(len.saturating_mul(work), len).next_multiple_of(LANES), body);
}

struct Roots<'a, E>(&'a Equation<'a, E>);

impl<E: FloatElem> Routine for Roots<'_, E> {
    /// Which roots, and where all their poles and steps are, valid for writes of these.
    type Args = (Range<usize>, [*mut E; 2]);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (range, [origins, steps]): Self::Args) {
        for first in range.clone().step_by(<E::Vector<S>>::LANES) {
            let (origin, step) = several::<E::Vector<S>>(self.0, first);
            let count = <E::Vector<S>>::LANES.min(range.end - first);
            // SAFETY: as many elements from `first` on are in the range.
            unsafe {
                origin.store_partial(origins.add(first), count);
                step.store_partial(steps.add(first), count);
            }
        }
    }
}

/// The elements from `first` on, but none after `last`: that again.
#[inline(always)]
fn lanes<V: Vector>(x: &[V::Elem], first: usize, last: usize) -> V {
    let mut elements = [V::Elem::default(); LANES];
    for (lane, element) in elements.iter_mut().enumerate() {
        *element = x[(first + lane).min(last)];
    }
    // SAFETY: the array holds 16 elements, and LANES is at most 16.
    unsafe { V::load(elements.as_ptr()) }
}

/// The poles that a root lies between, or, of the last one, the two before it; they are `left` and the next.
struct Between<V: Vector> {
    left: V,
    last: V::Mask,
    poles: [V; 2],
}

/// The roots from `first` on.
#[inline(always)]
fn several<V: Vector>(equation: &Equation<'_, V::Elem>, first: usize) -> (V, V) {
    let (d, len) = (equation.d, equation.d.len());
    let (zero, half) = (V::splat(0.0), V::splat(0.5));
    let index = V::from_int(V::numbers()) + V::splat(first as f64);
    let last = index.ge(V::splat((len - 1) as f64));
    let poles = [lanes::<V>(d, first, len - 2), lanes::<V>(d, first + 1, len - 1)];
    let between = Between { left: index.min(V::splat((len - 2) as f64)), last, poles };
    let reach = equation.rho * equation.squares.iter().map(|x| x.to_f64()).sum::<f64>();
    let middle = half * V::select(last, V::splat(reach), poles[1] - poles[0]);
    let base = V::select(last, poles[1], poles[0]);
    let start = Sums::new(equation, first, &between, base, middle);
    let value = start.value(equation);
    let beyond = value.lt(zero);
    let nearer = beyond & !last;
    let origin = V::select(nearer, poles[1], base);
    // The step is between `low` and `high`; of the last root rounding may put it a little above.
    let high = V::select(
        nearer,
        zero,
        V::select(beyond, middle + middle * (V::splat(1.0) + V::splat(8.0) * epsilon()), middle),
    );
    let low = V::select(nearer, -middle, V::select(beyond, middle, zero));
    let from = V::select(nearer, -middle, middle);
    let step = first_guess(equation, first, &between, origin, from, value);
    let step = V::select(step.gt(low) & step.lt(high), step, half * (low + high));
    (origin, improve(equation, first, &between, origin, step, [low, high]))
}

/// The root of what has the poles beside it as they are and the rest as it is at the step `from`, where the sum is `value`.
#[inline(always)]
fn first_guess<V: Vector>(
    equation: &Equation<'_, V::Elem>,
    first: usize,
    between: &Between<V>,
    origin: V,
    from: V,
    value: V,
) -> V {
    let last = equation.d.len() - 1;
    let [p, q] = between.poles.map(|pole| pole - origin);
    let (s, t) = (lanes::<V>(equation.squares, first, last - 1), lanes::<V>(equation.squares, first + 1, last));
    let c = value - s / (p - from) - t / (q - from);
    quadratic(c, c.mul_add(p + q, s + t), c.mul_add(p * q, s.mul_add(q, t * p)), between.last)
}

/// The root of `c x^2 - a x + b` that is between the poles or, of the last, after them.
#[inline(always)]
fn quadratic<V: Vector>(c: V, a: V, b: V, last: V::Mask) -> V {
    let (zero, two) = (V::splat(0.0), V::splat(2.0));
    let a = V::select(last, -a, a);
    let root = a.mul_add(a, V::splat(-4.0) * b * c).max(zero).sqrt();
    let x = V::select(a.le(zero), (a - root) / (two * c), two * b / (a + root));
    V::select(last, -x, x)
}

/// Steps to the roots, from steps that are between `low` and `high` as they are.
#[inline(always)]
fn improve<V: Vector>(
    equation: &Equation<'_, V::Elem>,
    first: usize,
    between: &Between<V>,
    origin: V,
    mut step: V,
    [mut low, mut high]: [V; 2],
) -> V {
    let (zero, half, shrink) = (V::splat(0.0), V::splat(0.5), V::splat(1.0 / 64.0));
    let bound = V::splat(8.0 + equation.d.len() as f64 / 32.0) * epsilon();
    let [p, q] = between.poles.map(|pole| pole - origin);
    let mut done = zero.lt(zero);
    for _ in 0..STEPS {
        let sums = Sums::new(equation, first, between, origin, step);
        let value = sums.value(equation);
        low = V::select(value.lt(zero), step, low);
        high = V::select(value.lt(zero), high, step);
        done = done | value.abs().le(bound * sums.size(equation));
        if !(!done).any() {
            break;
        }
        let [p, q] = [p - step, q - step];
        let slope = sums.left_slope + sums.right_slope;
        let c = value - p * sums.left_slope - q * sums.right_slope;
        let change = quadratic(c, (p + q).mul_add(value, -(p * q * slope)), p * q * value, between.last);
        let downhill = (change * value).lt(zero);
        let next = step + V::select(downhill, change, -(value / slope));
        // Where that leaves the interval: its middle, or, next to a pole, so much nearer to it.
        let inner = V::select(low.eq(zero), high * shrink, V::select(high.eq(zero), low * shrink, half * (low + high)));
        let next = V::select(next.gt(low) & next.lt(high), next, inner);
        let still = (next - step).abs().le(epsilon::<V>() * step.abs());
        step = V::select(done, step, next);
        done = done | still;
    }
    step
}

/// The sums of the equation over the poles up to the left one and over those after it, and their slopes.
struct Sums<V> {
    left: V,
    left_slope: V,
    right: V,
    right_slope: V,
}

impl<V: Vector> Sums<V> {
    #[inline(always)]
    fn new(equation: &Equation<'_, V::Elem>, first: usize, between: &Between<V>, origin: V, step: V) -> Self {
        let (zero, one, end) = (V::splat(0.0), V::splat(1.0), equation.d.len() - 2);
        let mut sums = Sums { left: zero, left_slope: zero, right: zero, right_slope: zero };
        let (before, until) = (first.min(end) + 1, (first + V::LANES - 1).min(end) + 1);
        for (d, square) in equation.d[..before].iter().zip(&equation.squares[..before]) {
            let inverse = one / ((V::splat_elem(*d) - origin) - step);
            let term = V::splat_elem(*square) * inverse;
            (sums.left, sums.left_slope) = (sums.left + term, term.mul_add(inverse, sums.left_slope));
        }
        for i in before..until {
            let inverse = one / ((V::splat_elem(equation.d[i]) - origin) - step);
            let term = V::splat_elem(equation.squares[i]) * inverse;
            let is_left = V::splat(i as f64).le(between.left);
            let [left, right] = [V::select(is_left, term, zero), V::select(is_left, zero, term)];
            (sums.left, sums.left_slope) = (sums.left + left, left.mul_add(inverse, sums.left_slope));
            (sums.right, sums.right_slope) = (sums.right + right, right.mul_add(inverse, sums.right_slope));
        }
        for (d, square) in equation.d[until..].iter().zip(&equation.squares[until..]) {
            let inverse = one / ((V::splat_elem(*d) - origin) - step);
            let term = V::splat_elem(*square) * inverse;
            (sums.right, sums.right_slope) = (sums.right + term, term.mul_add(inverse, sums.right_slope));
        }
        sums
    }

    #[inline(always)]
    fn value(&self, equation: &Equation<'_, V::Elem>) -> V {
        V::splat(1.0 / equation.rho) + self.left + self.right
    }

    /// The sum of magnitudes.
    #[inline(always)]
    fn size(&self, equation: &Equation<'_, V::Elem>) -> V {
        V::splat(1.0 / equation.rho) + self.left.abs() + self.right.abs()
    }
}

/// Roots as found: the poles next to them, and steps from there.
#[derive(Clone, Copy)]
pub(super) struct Found<'a, E> {
    pub origins: &'a [E],
    pub steps: &'a [E],
}

/// The magnitudes of the `z`, up to a factor, to which the roots belong: `z_i^2` is the product of `x_j - d_i`, divided by that of the other `d_j - d_i`
/// (Löwner).
pub(super) fn weights<E: FloatElem>(d: &[E], found: Found<'_, E>, weights: &mut [E]) {
    let len = d.len();
    assert!([found.origins.len(), found.steps.len(), weights.len()] == [len; 3], "a root and a weight for each pole");
    let (entry, to) = (resolve::<Weights<E>>(Isa::current()), Shared(weights.as_mut_ptr()));
    each(len, len * DIVISION, |range| {
        // SAFETY: the level is this processor's, and these elements of the slice are this call's.
        unsafe { entry(&Weights(d, found), (range, to.get())) };
    });
}

struct Weights<'a, E>(&'a [E], Found<'a, E>);

impl<E: FloatElem> Routine for Weights<'_, E> {
    /// Which weights, and where all are, valid for writes of these.
    type Args = (Range<usize>, *mut E);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (range, to): Self::Args) {
        let (Weights(d, found), zero, one) = (self, <E::Vector<S>>::splat(0.0), <E::Vector<S>>::splat(1.0));
        for first in range.clone().step_by(<E::Vector<S>>::LANES) {
            let own = lanes::<E::Vector<S>>(d, first, d.len() - 1);
            let mut product = one;
            for ((pole, origin), step) in d.iter().zip(found.origins).zip(found.steps) {
                let splat = <E::Vector<S>>::splat_elem;
                let (root, other) = ((splat(*origin) - own) + splat(*step), splat(*pole) - own);
                product = product * (root / Float::select(other.eq(zero), one, other));
            }
            let count = <E::Vector<S>>::LANES.min(range.end - first);
            // SAFETY: as many elements from `first` on are in the range.
            unsafe { product.abs().sqrt().store_partial(to.add(first), count) };
        }
    }
}

/// The eigenvectors, of length 1, one after another: of each root `x`, `z_i / (d_i - x)` of these `d` and `z`, in any order.
pub(super) fn vectors<E: FloatElem>(d: &[E], z: &[E], found: Found<'_, E>, vectors: &mut [E]) {
    let (len, count) = (d.len(), found.steps.len());
    assert!(z.len() == len && found.origins.len() == count && vectors.len() == len * count, "a vector for each root");
    let (entry, to) = (resolve::<Vectors<E>>(Isa::current()), Shared(vectors.as_mut_ptr()));
    each(count, 2 * len, |range| {
        // SAFETY: the level is this processor's, and these vectors are this call's.
        unsafe { entry(&Vectors { d, z, found }, (range, to.get())) };
    });
}

struct Vectors<'a, E> {
    d: &'a [E],
    z: &'a [E],
    found: Found<'a, E>,
}

impl<E: FloatElem> Routine for Vectors<'_, E> {
    /// Which vectors, and where all are, valid for writes of these.
    type Args = (Range<usize>, *mut E);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (range, to): Self::Args) {
        let (len, lanes) = (self.d.len(), <E::Vector<S>>::LANES);
        for j in range {
            let [origin, step] = [self.found.origins[j], self.found.steps[j]].map(<E::Vector<S>>::splat_elem);
            let mut square = <E::Vector<S>>::splat(0.0);
            // SAFETY: vector `j` has `len` elements, as have `d` and `z`; what is read and written is within.
            unsafe {
                let to = to.add(j * len);
                for i in (0..len).step_by(lanes) {
                    let count = lanes.min(len - i);
                    let d = <E::Vector<S>>::load_partial(self.d.as_ptr().add(i), count);
                    let z = <E::Vector<S>>::load_partial(self.z.as_ptr().add(i), count);
                    let distance = (d - origin) - step;
                    let own = Float::select(<E::Vector<S>>::first(count), z / distance, <E::Vector<S>>::splat(0.0));
                    square = own.mul_add(own, square);
                    own.store_partial(to.add(i), count);
                }
                let scale = <E::Vector<S>>::splat(1.0) / <E::Vector<S>>::splat_elem(square.reduce_sum()).sqrt();
                for i in (0..len).step_by(lanes) {
                    let count = lanes.min(len - i);
                    (<E::Vector<S>>::load_partial(to.add(i), count) * scale).store_partial(to.add(i), count);
                }
            }
        }
    }
}
