//! The sizes for which a function is traced: next to each other, so that what is rounded shows; far from each other, so that what only seems to be a line
//! does; and several that change at once.

use crate::pattern::Size;

/// As large as sizes are tried that may be anything.
pub(super) const LARGEST: usize = (1 << 20) + 7;
/// So many sizes next to each other.
const NEIGHBOURS: usize = 8;
/// All sizes are tried where there are no more.
const FEW: usize = 24;

/// Points, the first of which is `base`, and whether they are all that there are. Sizes of 0 and 1, which behave in ways of their own, are left out where
/// there are others.
pub(super) fn points(sizes: &[Size], base: &[usize]) -> (Vec<Vec<usize>>, bool) {
    let count = |size: &Size| (size.max - least(size)).saturating_add(1);
    if sizes.iter().map(count).fold(1, usize::saturating_mul) <= FEW {
        return (all(sizes, base), true);
    }
    let mut points = vec![base.to_vec()];
    for (i, size) in sizes.iter().enumerate() {
        for value in values(size, base[i]) {
            let mut point = base.to_vec();
            point[i] = value;
            points.push(point);
        }
    }
    // A generator of Lehmer's; any numbers will do.
    let mut seed = 1u64;
    let mut next = |most: usize| {
        seed = seed * 48271 % 2_147_483_647;
        seed as usize % most
    };
    let together = if sizes.len() > 1 { 6 * sizes.len() } else { 0 };
    for _ in 0..together {
        let drawn = sizes.iter().zip(base).map(|(size, &base)| {
            let most = size.max.min(3 * base + 5);
            least(size) + next(most - least(size) + 1)
        });
        points.push(drawn.collect());
    }
    let mut distinct: Vec<Vec<usize>> = Vec::new();
    for point in points {
        if !distinct.contains(&point) {
            distinct.push(point);
        }
    }
    (distinct, false)
}

/// The least size that is tried.
pub(super) fn least(size: &Size) -> usize {
    size.min.max(2).min(size.max)
}

/// Values of one size.
fn values(size: &Size, base: usize) -> Vec<usize> {
    let least = least(size);
    // There is more than one value also where the least is very large.
    let most = size.max.min(LARGEST.max(least.saturating_mul(2)));
    // Upwards from the example's, or so that they end with the most.
    let begin = base.min((most + 1).saturating_sub(NEIGHBOURS)).max(least);
    let near = begin..=most.min(begin + NEIGHBOURS - 1);
    let far = [2 * base + 1, 3 * base + 2, (least + most) / 2, least + 1, least, most];
    near.chain(far).filter(|value| (least..=most).contains(value)).collect()
}

fn all(sizes: &[Size], base: &[usize]) -> Vec<Vec<usize>> {
    let mut points = vec![Vec::new()];
    for size in sizes {
        let longer = |point: &Vec<usize>| {
            let point = point.clone();
            (least(size)..=size.max).map(move |value| [&point[..], &[value]].concat())
        };
        points = points.iter().flat_map(longer).collect();
    }
    let first = points.iter().position(|point| point == base).unwrap_or(0);
    points.swap(0, first);
    points
}
