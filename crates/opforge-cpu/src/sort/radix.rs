//! Sorting by digits.

use super::key::Packed;
use crate::loops::work::LOOK;
use opforge_runtime::checkpoint;

/// Pairs from which on sorting digit by digit is faster than comparing.
pub(super) const LEAST: usize = 1 << 11;
/// Digits that may differ: with more, comparing is faster.
const MOST: usize = 4;
const VALUES: usize = 256;

/// A pair's key, `DIGITS` digits.
pub(super) trait Digits: Packed {
    const DIGITS: usize;
    /// The digit at a place, counted from the last.
    fn digit(self, place: usize) -> usize;
    /// The bits of keys that are not the same.
    fn differing(self, other: Self) -> u64;
}

impl Digits for u64 {
    const DIGITS: usize = 4;
    #[inline(always)]
    fn digit(self, place: usize) -> usize {
        (self >> (32 + 8 * place)) as usize % VALUES
    }
    #[inline(always)]
    fn differing(self, other: Self) -> u64 {
        (self ^ other) >> 32
    }
}

impl Digits for u128 {
    const DIGITS: usize = 8;
    #[inline(always)]
    fn digit(self, place: usize) -> usize {
        ((self >> 32) as u64 >> (8 * place)) as usize % VALUES
    }
    #[inline(always)]
    fn differing(self, other: Self) -> u64 {
        ((self ^ other) >> 32) as u64
    }
}

/// Sorts pairs by their keys, digit by digit from the last; those that are equal there keep their order. `spare` is as long. False if too many digits
/// differ, and nothing is changed.
pub(super) fn sort<T: Digits>(pairs: &mut [T], spare: &mut [T]) -> bool {
    let varying = varying(pairs);
    if varying.count_ones() as usize > MOST {
        return false;
    }
    let (mut from, mut to) = (pairs, spare);
    let mut swapped = false;
    for place in (0..T::DIGITS).filter(|place| varying & 1 << place != 0) {
        let mut ends = [0u32; VALUES];
        for some in from.chunks(LOOK) {
            checkpoint();
            some.iter().for_each(|pair| ends[pair.digit(place)] += 1);
        }
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        for some in from.chunks(LOOK) {
            checkpoint();
            for &pair in some {
                let end = &mut ends[pair.digit(place)];
                to[*end as usize] = pair;
                *end += 1;
            }
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
    true
}

/// The places, a bit each, whose digit is not the same in all pairs.
fn varying<T: Digits>(pairs: &[T]) -> u32 {
    let Some(&first) = pairs.first() else { return 0 };
    let mut bits = 0u64;
    for some in pairs.chunks(LOOK) {
        checkpoint();
        bits |= some.iter().fold(0, |bits, pair| bits | pair.differing(first));
    }
    (0..T::DIGITS).filter(|place| bits >> (8 * place) as u32 & 0xff != 0).fold(0, |places, place| places | 1 << place)
}
