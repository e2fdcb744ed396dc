//! Few target channels, straight from the slab.

use opforge_runtime::checkpoint;

use super::Part;
use crate::conv::correlate::System;
use crate::conv::geometry::Lengths;
use crate::conv::phase::counts;
use crate::conv::slab::Read;
use crate::conv::{Element, MAX_SPATIAL};
use crate::matmul::operand::Operand;
use crate::simd::stored::{VectorOf, lie, load_as, store_strided};
use crate::simd::{Float, Simd, Vector};

/// Products that are added to one sum before it is added to another: errors grow with the number of additions to one.
const RUN: usize = 1024;
/// Lines of targets that are summed side by side, so that a weight is loaded once for all.
const LINES: usize = 4;

impl<E: Element> Part<'_, E> {
    /// One target channel, straight from the slab.
    ///
    /// # Safety
    /// As [`Part::run`]; the slab is open.
    #[inline(always)]
    pub(super) unsafe fn direct<S: Simd>(
        &self,
        system: &System,
        slab: *const E::Compute,
        channel: usize,
        room: *mut E::Compute,
    ) {
        let targets = self.correlation.blocks.targets_of(self.block, counts(&system.phase));
        let [by_group, by_row, _] = self.correlation.spec.channels.weight;
        // SAFETY: the weight has the channel's taps at `weights`, for all of which the room has space; `[a, b]` are lines of targets.
        unsafe {
            let weight = self.tensors.weight.get().add(self.group * by_group + channel * by_row);
            for (to, &from) in system.weights.iter().enumerate() {
                *room.add(to) = Operand::widen(*weight.add(from));
            }
            let weights = std::slice::from_raw_parts(room, system.weights.len());
            for a in 0..targets[0] {
                let whole = targets[1] / LINES * LINES;
                for b in (0..whole).step_by(LINES) {
                    self.direct_lines::<S, LINES>(system, slab, channel, weights, [a, b, targets[2]]);
                }
                for b in whole..targets[1] {
                    self.direct_lines::<S, 1>(system, slab, channel, weights, [a, b, targets[2]]);
                }
            }
        }
    }

    /// `N` lines of `len` targets, from that at `[a, b]` on, a vector of each at a time.
    ///
    /// # Safety
    /// As [`Part::direct`].
    #[inline(always)]
    unsafe fn direct_lines<S: Simd, const N: usize>(
        &self,
        system: &System,
        slab: *const E::Compute,
        channel: usize,
        weights: &[E::Compute],
        [a, b, len]: Lengths,
    ) {
        let (lanes, steps) = (VectorOf::<E, S>::LANES, self.correlation.blocks.steps());
        let mut to = [std::ptr::null_mut(); N];
        for (line, to) in to.iter_mut().enumerate() {
            *to = self.target(0, channel).wrapping_add(self.place(system, [a, b + line, 0]));
        }
        // SAFETY: `N` lines begin at `[a, b]`, and `c` never exceeds `len`; with step 1 `whole` targets are whole vectors.
        unsafe {
            let lines = Lines::<E, N> {
                from: slab.add(a * steps[0] + b * steps[1]),
                steps: [steps[1], steps[2]],
                to,
                gap: system.phase[MAX_SPATIAL - 1].gap,
                bias: self.bias(channel),
            };
            let whole = if steps[2] == 1 { len / lanes * lanes } else { 0 };
            for c in (0..whole).step_by(lanes) {
                lines.sum::<S, { lie::WHOLE }>(&system.reads, weights, c, lanes);
            }
            for c in (whole..len).step_by(lanes) {
                match steps[2] {
                    1 => lines.sum::<S, { lie::PART }>(&system.reads, weights, c, len - c),
                    _ => lines.sum::<S, { lie::APART }>(&system.reads, weights, c, lanes.min(len - c)),
                }
            }
        }
    }
}

/// `N` lines of the slab, a step apart, and of the target.
struct Lines<E: Element, const N: usize> {
    from: *const E::Compute,
    /// From line to line and from target to target.
    steps: [usize; 2],
    to: [*mut E; N],
    gap: usize,
    bias: E::Compute,
}

impl<E: Element, const N: usize> Lines<E, N> {
    /// `n` targets of each line from the `c`-th on.
    ///
    /// # Safety
    /// The reads are readable from the lines, which are as `HOW` tells, and the targets writable.
    #[inline(always)]
    unsafe fn sum<S: Simd, const HOW: u8>(&self, reads: &[Read], weights: &[E::Compute], c: usize, n: usize) {
        let [line_step, step] = self.steps;
        let from = self.from.wrapping_add(c * step);
        let mut sums = [VectorOf::<E, S>::splat_elem(self.bias); N];
        let mut totals = [VectorOf::<E, S>::splat(0.0); N];
        // SAFETY: every line is readable at every read for `n` targets from the `c`-th, as `HOW` tells; `n` targets of `to` are writable.
        unsafe {
            for (part, weights) in reads.chunks(RUN).zip(weights.chunks(RUN)) {
                checkpoint();
                for (read, &weight) in part.iter().zip(weights) {
                    let weight = VectorOf::<E, S>::splat_elem(weight);
                    for (line, sum) in sums.iter_mut().enumerate() {
                        let x = load_as::<S, E::Compute, HOW>(from.add(read.at + line * line_step), n, step);
                        *sum = x.mul_add(weight, *sum);
                    }
                }
                if reads.len() > RUN {
                    for (sum, total) in sums.iter_mut().zip(&mut totals) {
                        *total = *total + std::mem::replace(sum, VectorOf::<E, S>::splat(0.0));
                    }
                }
            }
            if reads.len() > RUN {
                sums = totals;
            }
            for (sum, to) in sums.into_iter().zip(self.to) {
                store_strided::<S, E>(sum, n, to.add(c * self.gap), self.gap);
            }
        }
    }
}
