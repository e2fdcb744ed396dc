//! Sorting by digits.

use crate::loops::work::LOOK;
use opforge_runtime::checkpoint;

/// Pairs from which on sorting digit by digit is faster than comparing.
pub(super) const LEAST: usize = 1 << 11;
const DIGITS: usize = 4;
const VALUES: usize = 256;

/// Sorts pairs by their upper 32 bits, digit by digit from the last; those that are equal there keep their order. `spare` is as long.
pub(super) fn sort(pairs: &mut [u64], spare: &mut [u64]) {
    let digit = |pair: u64, place: usize| (pair >> (32 + 8 * place)) as usize % VALUES;
    let mut counts = [[0u32; VALUES]; DIGITS];
    for some in pairs.chunks(LOOK) {
        checkpoint();
        for &pair in some {
            for (place, counts) in counts.iter_mut().enumerate() {
                counts[digit(pair, place)] += 1;
            }
        }
    }
    let (mut from, mut to) = (pairs, spare);
    let mut swapped = false;
    for (place, counts) in counts.iter().enumerate() {
        // A digit that is the same in all pairs changes nothing.
        if counts.iter().any(|&count| count as usize == from.len()) {
            continue;
        }
        let mut ends = [0u32; VALUES];
        for value in 1..VALUES {
            ends[value] = ends[value - 1] + counts[value - 1];
        }
        for some in from.chunks(LOOK) {
            checkpoint();
            for &pair in some {
                let end = &mut ends[digit(pair, place)];
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
}
