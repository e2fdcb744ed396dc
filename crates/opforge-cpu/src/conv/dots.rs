//! Gradients of weights where a group has one input channel, depthwise convolutions above all: products of an output line with a line of the
//! slab, added up straight from both. There are too few taps for packing to pay.

use super::Element;
use super::geometry::Lengths;
use super::sums::Sums;
use super::weight::WeightGradient;
use crate::matmul::operand::Accumulator;
use crate::simd::stored::{VectorOf, lie, load_as};
use crate::simd::{Float, Simd, Vector};

/// Vectors that are added to one sum before it is added to another: errors grow with the number of additions to one.
const RUN: usize = 256;

/// Adds `from` to `to`, and sets it to zero.
#[inline(always)]
fn add_all<V: Float, const R: usize, const T: usize>(to: &mut [[V; T]; R], from: &mut [[V; T]; R]) {
    for (to, from) in to.iter_mut().zip(from) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = *to + std::mem::replace(from, V::splat(0.0));
        }
    }
}

/// A block of positions: the slab, the gradients of the first output channel, and how both are walked.
struct Positions<E: Element> {
    slab: *const E::Compute,
    y: *const E,
    /// From one output channel to the next.
    plane: usize,
    targets: Lengths,
    steps: Lengths,
}

impl<E: Element> WeightGradient<E> {
    /// Adds what a block of positions contributes.
    ///
    /// # Safety
    /// The slab is open, `y` points to the first channel of the group; the sums are valid.
    #[inline(always)]
    pub(super) unsafe fn dots<S: Simd>(
        &self,
        slab: *const E::Compute,
        y: *const E,
        block: usize,
        sums: &mut Sums<E::Compute>,
    ) {
        let positions = Positions {
            slab,
            y: y.wrapping_add(self.first_target(block)),
            plane: self.sizes.y.iter().product(),
            targets: self.blocks.targets_of(block, self.sizes.y),
            steps: self.blocks.steps(),
        };
        // As many sums at a time as there are registers for.
        // SAFETY: the slab is open, and the positions are this block's: its first target in `y`, its lengths and its steps.
        unsafe {
            match self.sizes.outputs {
                1 => self.dots_by::<S, 1, 5>(&positions, sums),
                _ => self.dots_by::<S, 4, 3>(&positions, sums),
            }
        }
        sums.begun = true;
        // SAFETY: the sums and totals are the task's, as for the products above.
        unsafe { sums.count_product() };
    }

    /// [`WeightGradient::dots`] of `R` output channels and `T` taps at a time. Where there are fewer left, the last are computed repeatedly.
    ///
    /// # Safety
    /// As for [`WeightGradient::dots`], of these channels and taps.
    #[inline(always)]
    unsafe fn dots_by<S: Simd, const R: usize, const T: usize>(
        &self,
        positions: &Positions<E>,
        sums: &mut Sums<E::Compute>,
    ) {
        let (outputs, columns) = (self.sizes.outputs, sums.columns.clone());
        for first in (0..outputs).step_by(R) {
            for from in columns.clone().step_by(T) {
                let rows: [usize; R] = std::array::from_fn(|r| (first + r).min(outputs - 1));
                let reads: [usize; T] = std::array::from_fn(|t| self.reads[(from + t).min(columns.end - 1)].at);
                // SAFETY: rows are clamped to the output channels, reads to the columns, whose windows the slab holds.
                let dots = unsafe { positions.dots::<S, R, T>(rows, reads) };
                for (r, dots) in dots.iter().enumerate().take(outputs - first) {
                    for (t, &dot) in dots.iter().enumerate().take(columns.end - from) {
                        let at = (first + r) * self.reads.len() + from - columns.start + t;
                        // SAFETY: `first + r` is an output channel and `from + t` a column, so that `at` is within the rows of sums.
                        unsafe {
                            let sum = sums.at.add(at);
                            *sum = if sums.begun { (*sum).plus(dot) } else { dot };
                        }
                    }
                }
            }
        }
    }
}

impl<E: Element> Positions<E> {
    /// The sums over all positions of the products of some output channels with what some taps read.
    ///
    /// # Safety
    /// The slab is open and `y` valid for the block's positions; rows are output channels, reads those of the slab.
    #[inline(always)]
    unsafe fn dots<S: Simd, const R: usize, const T: usize>(
        &self,
        rows: [usize; R],
        reads: [usize; T],
    ) -> [[E::Compute; T]; R] {
        let (lanes, len, step) = (VectorOf::<E, S>::LANES, self.targets[2], self.steps[2]);
        let whole = if step == 1 { len / lanes * lanes } else { 0 };
        let mut sums = [[VectorOf::<E, S>::splat(0.0); T]; R];
        let (mut totals, mut added) = (sums, 0);
        for line in 0..self.targets[0] * self.targets[1] {
            let [a, b] = [line / self.targets[1], line % self.targets[1]];
            let slab = self.slab.wrapping_add(a * self.steps[0] + b * self.steps[1]);
            let y = self.y.wrapping_add(line * len);
            // SAFETY: `line` and `c` are of the block's targets, and no vector goes past `len`; with step 1, `whole` are whole vectors.
            unsafe {
                for first in (0..len).step_by(RUN * lanes) {
                    let end = len.min(first + RUN * lanes);
                    for c in (first..end.min(whole)).step_by(lanes) {
                        let at = (slab.add(c), y.add(c));
                        self.add::<S, R, T, { lie::WHOLE }>(&mut sums, rows, reads, at, lanes);
                    }
                    for c in (first.max(whole)..end).step_by(lanes) {
                        let (at, n) = ((slab.add(c * step), y.add(c)), lanes.min(len - c));
                        match step {
                            1 => self.add::<S, R, T, { lie::PART }>(&mut sums, rows, reads, at, n),
                            _ => self.add::<S, R, T, { lie::APART }>(&mut sums, rows, reads, at, n),
                        }
                    }
                    added += end - first;
                    if added >= RUN * lanes {
                        add_all(&mut totals, &mut sums);
                        added = 0;
                    }
                }
            }
        }
        add_all(&mut totals, &mut sums);
        let sums = totals;
        let mut dots = [[E::Compute::default(); T]; R];
        for (dots, sums) in dots.iter_mut().zip(sums) {
            for (dot, sum) in dots.iter_mut().zip(sums) {
                *dot = sum.reduce_sum();
            }
        }
        dots
    }

    /// Adds the products of `n` positions.
    ///
    /// # Safety
    /// The addresses are of a line's positions; what is read of the slab lies as `HOW` tells.
    #[inline(always)]
    unsafe fn add<S: Simd, const R: usize, const T: usize, const HOW: u8>(
        &self,
        sums: &mut [[VectorOf<E, S>; T]; R],
        rows: [usize; R],
        reads: [usize; T],
        (slab, y): (*const E::Compute, *const E),
        n: usize,
    ) {
        // SAFETY: each read is valid for `n` positions from `slab`, each channel for as many from `y`, both at the steps that `HOW` states.
        unsafe {
            let mut x = [VectorOf::<E, S>::splat(0.0); T];
            for (x, read) in x.iter_mut().zip(reads) {
                *x = load_as::<S, E::Compute, HOW>(slab.add(read), n, self.steps[2]);
            }
            for (sums, row) in sums.iter_mut().zip(rows) {
                let y = y.add(row * self.plane);
                let y = if HOW == lie::WHOLE { E::load::<S>(y) } else { E::load_partial::<S>(y, n) };
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum = x.mul_add(y, *sum);
                }
            }
        }
    }
}
