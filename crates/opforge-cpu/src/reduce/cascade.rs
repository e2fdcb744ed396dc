//! Combining many partial results without letting the rounding error grow with their number.

use super::fold::Fold;
use crate::simd::Simd;

/// How many partial results a level takes before it is added to the next: rounding errors grow by at most this many per level.
const RADIX_LOG2: u32 = 4;
/// Levels enough for 2^20 partial results; beyond, the last one grows.
pub(super) const LEVELS: usize = 5;

/// How many levels are full after `pushed` partial results.
#[inline(always)]
pub(super) fn full_levels(pushed: usize, levels: usize) -> usize {
    ((pushed.trailing_zeros() / RADIX_LOG2) as usize).min(levels - 1)
}

/// How many levels `pushes` partial results touch.
pub(super) fn levels_used(pushes: usize, levels: usize) -> usize {
    ((pushes.max(1).ilog2() / RADIX_LOG2) as usize + 1).min(levels)
}

/// Combines vectors as a tree with nodes of sixteen.
pub(super) struct Cascade<F: Fold, S: Simd> {
    fold: F,
    levels: [F::Vector<S>; LEVELS],
    pushed: usize,
}

impl<F: Fold, S: Simd> Cascade<F, S> {
    #[inline(always)]
    pub fn new(fold: F) -> Self {
        Cascade { fold, levels: [fold.identity::<S>(); LEVELS], pushed: 0 }
    }

    /// Adds a partial result.
    #[inline(always)]
    pub fn push(&mut self, v: F::Vector<S>) {
        let levels = &mut self.levels;
        levels[0] = self.fold.combine_rarely::<S>(levels[0], v);
        self.pushed += 1;
        for level in 0..full_levels(self.pushed, LEVELS) {
            levels[level + 1] = self.fold.combine_rarely::<S>(levels[level + 1], levels[level]);
            levels[level] = self.fold.identity::<S>();
        }
    }

    /// The whole result.
    #[inline(always)]
    pub fn finish(self) -> F::Vector<S> {
        let mut result = self.levels[0];
        for &level in &self.levels[1..] {
            result = self.fold.combine_rarely::<S>(result, level);
        }
        result
    }
}
