//! The corners of a block of points: elements of the image that samples are made of, and how much of each.

use crate::conv::MAX_SPATIAL;
use crate::matmul::operand::Operand;
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Float, FloatElem, Simd, Vector};

use super::Sampler;
use super::line::{TAPS, Tap};

/// Points of a block; whole vectors.
pub(super) const POINTS: usize = 64;
/// The most corners: of four elements along two dimensions.
const CORNERS: usize = TAPS * TAPS;

/// A number for each point.
type Each<F> = [F; POINTS];

/// What is known of the points of a block. It lies in working memory, whose bytes are any; numbers past the last point are of no meaning.
#[repr(C)]
pub(super) struct Points<F> {
    /// The grid's numbers along each dimension.
    grid: [Each<F>; MAX_SPATIAL],
    /// For each dimension and tap the place as an integer in a float's bits, share and slope.
    along: [[[Each<F>; 3]; TAPS]; MAX_SPATIAL],
    /// For each corner the element of the plane: negative beyond it.
    place: [Each<i32>; CORNERS],
    /// The least of a corner's places.
    least: [i32; CORNERS],
    share: [Each<F>; CORNERS],
    /// The shares' derivatives by the grid's numbers.
    pub slope: [[Each<F>; CORNERS]; MAX_SPATIAL],
    /// What a channel has at a corner.
    pub values: Each<F>,
    pub sums: [Each<F>; MAX_SPATIAL],
}

impl<F: FloatElem> Points<F> {
    /// Finds the corners of `count` points, with slopes if they are wanted.
    ///
    /// # Safety
    /// `grid` is readable for the points' numbers.
    #[inline(always)]
    pub unsafe fn locate<S: Simd, E: StoredFloat<Compute = F> + Operand<Acc = F>>(
        &mut self,
        sampler: &Sampler,
        grid: *const E,
        count: usize,
        slopes: bool,
    ) {
        let spatial = sampler.spatial;
        for (d, line) in sampler.lines.iter().enumerate() {
            if line.sampling.is_none() {
                self.along[d][0] = [[F::of_integer(0); POINTS], [F::from_f64(1.0); POINTS], [F::default(); POINTS]];
                continue;
            }
            for p in 0..count {
                // SAFETY: each of the `count` points has `spatial` numbers, the last dimension's first.
                self.grid[d][p] = unsafe { *grid.add(p * spatial + MAX_SPATIAL - 1 - d) }.widen();
            }
            for i in (0..count).step_by(VectorOf::<E, S>::LANES) {
                // SAFETY: arrays hold whole vectors.
                let x = unsafe { VectorOf::<E, S>::load(self.grid[d].as_ptr().add(i)) };
                line.each_tap(
                    x,
                    #[inline(always)]
                    |t, Tap { place, share, slope }| {
                        let [places, shares, slopes] = &mut self.along[d][t];
                        // SAFETY: arrays hold whole vectors.
                        unsafe {
                            VectorOf::<E, S>::from_bits(place).store(places.as_mut_ptr().add(i));
                            share.store(shares.as_mut_ptr().add(i));
                            slope.store(slopes.as_mut_ptr().add(i));
                        }
                    },
                );
            }
        }
        let [a, b, c] = sampler.lines.map(|line| line.taps());
        for corner in 0..a * b * c {
            let taps = [corner / c / b, corner / c % b, corner % c];
            self.join_places(sampler, corner, taps, count);
            self.join_shares::<S, E>(corner, taps, count, slopes.then_some(spatial));
        }
    }

    /// Places along dimensions become one in the plane.
    #[inline(always)]
    fn join_places(&mut self, sampler: &Sampler, corner: usize, taps: [usize; MAX_SPATIAL], count: usize) {
        let [_, rows, columns] = sampler.lines.map(|line| line.len as i32);
        let [a, b, c] = [0, 1, 2].map(|d| &self.along[d][taps[d]][0]);
        let mut least = i32::MAX;
        for p in 0..count {
            let [a, b, c] = [a[p], b[p], c[p]].map(|place| place.to_integer() as i32);
            let place = a.wrapping_mul(rows).wrapping_add(b).wrapping_mul(columns).wrapping_add(c);
            let place = place | (a | b | c) >> 31;
            least = least.min(place);
            self.place[corner][p] = place;
        }
        self.least[corner] = least;
    }

    /// Shares along dimensions are multiplied; `slopes` of so many of them too.
    #[inline(always)]
    fn join_shares<S: Simd, E: StoredFloat<Compute = F>>(
        &mut self,
        corner: usize,
        taps: [usize; MAX_SPATIAL],
        count: usize,
        slopes: Option<usize>,
    ) {
        for i in (0..count).step_by(VectorOf::<E, S>::LANES) {
            let [a, b, c] = self.tap::<S, E>(taps, 1, i);
            // SAFETY: arrays hold whole vectors.
            unsafe { (a * b * c).store(self.share[corner].as_mut_ptr().add(i)) };
            let Some(spatial) = slopes else { continue };
            let [of_a, of_b, of_c] = self.tap::<S, E>(taps, 2, i);
            // SAFETY: slopes lie in arrays like the shares', of whole vectors from `i` on.
            unsafe {
                if spatial == MAX_SPATIAL {
                    (of_a * b * c).store(self.slope[0][corner].as_mut_ptr().add(i));
                }
                (a * of_b * c).store(self.slope[1][corner].as_mut_ptr().add(i));
                (a * b * of_c).store(self.slope[2][corner].as_mut_ptr().add(i));
            }
        }
    }

    /// Vectors of what is known of a tap along each dimension: 1 is its share, 2 the slope.
    #[inline(always)]
    fn tap<S: Simd, E: StoredFloat<Compute = F>>(
        &self,
        [a, b, c]: [usize; MAX_SPATIAL],
        what: usize,
        i: usize,
    ) -> [VectorOf<E, S>; MAX_SPATIAL] {
        debug_assert!(i + VectorOf::<E, S>::LANES <= POINTS);
        // SAFETY: `i` begins a vector of points, of which arrays hold whole ones.
        unsafe {
            [
                Vector::load(self.along[0][a][what].as_ptr().add(i)),
                Vector::load(self.along[1][b][what].as_ptr().add(i)),
                Vector::load(self.along[2][c][what].as_ptr().add(i)),
            ]
        }
    }

    /// Reads what the plane `x` has at a corner of each point: 0 beyond it.
    ///
    /// # Safety
    /// `count` points were located in planes of the size of `x`.
    #[inline(always)]
    pub unsafe fn read<E: Operand<Acc = F>>(&mut self, corner: usize, x: *const E, count: usize) {
        let places = self.values.iter_mut().zip(&self.place[corner]).take(count);
        if self.least[corner] >= 0 {
            for (value, &place) in places {
                // SAFETY: the place, which is not negative, is within the plane.
                *value = unsafe { *x.add(place as usize) }.widen();
            }
            return;
        }
        for (value, &place) in places {
            // SAFETY: places are within the plane or negative, and it has an element 0.
            let element = unsafe { *x.add(place.max(0) as usize) }.widen();
            *value = if place < 0 { F::default() } else { element };
        }
    }

    /// Adds the values up at a corner of each point, in the plane `sums`.
    ///
    /// # Safety
    /// `count` points were located in planes of the size of `sums`.
    #[inline(always)]
    pub unsafe fn scatter(&self, corner: usize, sums: *mut F, count: usize) {
        for (&value, &place) in self.values.iter().zip(&self.place[corner]).take(count) {
            if place >= 0 {
                // SAFETY: the place is within the plane.
                unsafe { *sums.add(place as usize) += value };
            }
        }
    }

    /// A vector of the values.
    #[inline(always)]
    pub fn value<S: Simd, E: StoredFloat<Compute = F>>(&self, i: usize) -> VectorOf<E, S> {
        debug_assert!(i + VectorOf::<E, S>::LANES <= POINTS);
        // SAFETY: `i` begins a vector of points, of which the array holds whole ones.
        unsafe { Vector::load(self.values.as_ptr().add(i)) }
    }

    /// A vector of the shares of a corner.
    #[inline(always)]
    pub fn share<S: Simd, E: StoredFloat<Compute = F>>(&self, corner: usize, i: usize) -> VectorOf<E, S> {
        debug_assert!(i + VectorOf::<E, S>::LANES <= POINTS);
        // SAFETY: `i` begins a vector of points, of which the array holds whole ones.
        unsafe { Vector::load(self.share[corner].as_ptr().add(i)) }
    }
}
