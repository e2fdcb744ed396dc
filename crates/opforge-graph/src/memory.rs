//! Where what passes between calls lies: one piece of memory for all, in which those lie in the same place that are not needed at the same time.

/// Memory begins at multiples of this, a cache line.
pub const ALIGNMENT: usize = 64;

/// Something that takes memory from one step to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// How much.
    pub bytes: usize,
    /// The step that makes it.
    pub first: usize,
    /// The last step that reads it.
    pub last: usize,
}

/// Where each thing lies, and the bytes that all take together.
///
/// The largest are placed first, each as near to the beginning as those allow that live at the same time (greedy by size; Pisarchyk and Lee,
/// "Efficient memory management for deep neural net inference", 2020).
pub fn plan(lifetimes: &[Lifetime]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lifetimes.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(lifetimes[i].bytes), lifetimes[i].first));
    let (mut offsets, mut placed, mut total) = (vec![0; lifetimes.len()], Vec::<usize>::new(), 0);
    for i in order {
        let own = lifetimes[i];
        let meets = |other: &Lifetime| own.first <= other.last && other.first <= own.last;
        let mut offset = 0;
        // Those placed are in the order of their offsets.
        for &other in placed.iter().filter(|&&other| meets(&lifetimes[other])) {
            if offset + own.bytes <= offsets[other] {
                break;
            }
            offset = offset.max((offsets[other] + lifetimes[other].bytes).next_multiple_of(ALIGNMENT));
        }
        offsets[i] = offset;
        total = total.max(offset + own.bytes);
        let at = placed.partition_point(|&other| offsets[other] <= offset);
        placed.insert(at, i);
    }
    (offsets, total.next_multiple_of(ALIGNMENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifetimes(all: &[(usize, usize, usize)]) -> Vec<Lifetime> {
        all.iter().map(|&(bytes, first, last)| Lifetime { bytes, first, last }).collect()
    }

    #[test]
    fn a_chain_takes_turns_in_two_places() {
        let chain = lifetimes(&[(640, 0, 1), (640, 1, 2), (640, 2, 3), (640, 3, 4)]);
        assert_eq!(plan(&chain), (vec![0, 640, 0, 640], 1280));
    }

    #[test]
    fn what_lives_at_once_never_overlaps() {
        let mut state = 1u32;
        let mut random = |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % n as usize
        };
        for _ in 0..200 {
            let all: Vec<Lifetime> = (0..30)
                .map(|_| {
                    let first = random(20);
                    Lifetime { bytes: 1 + random(5000), first, last: first + random(6) }
                })
                .collect();
            let (offsets, total) = plan(&all);
            for (i, a) in all.iter().enumerate() {
                assert!(offsets[i] + a.bytes <= total && offsets[i].is_multiple_of(ALIGNMENT));
                for (j, b) in all.iter().enumerate().take(i) {
                    let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                    assert!(apart || a.last < b.first || b.last < a.first);
                }
            }
            let at_once = |step: usize| all.iter().filter(|x| x.first <= step && step <= x.last).map(|x| x.bytes).sum();
            let least: usize = (0..26).map(at_once).max().unwrap_or(0);
            assert!(total < 2 * least + 30 * ALIGNMENT, "{total} for {least}");
        }
    }
}
