//! A convolution, and its transpose, as sums of the same kind: each target position is a sum over taps, which read the source at positions
//! that move along with it.
//!
//! A convolution is one such system. Its transpose is one for each remainder of target positions modulo the stride: only the taps that fall on
//! source positions take part, so nothing is multiplied by the zeros that a stride leaves between them.

use opforge_core::Result;
use opforge_runtime::alloc::check_available;
use opforge_runtime::checkpoint;

use super::geometry::{Lengths, Sizes};
use super::{Geometry, MAX_SPATIAL, Window};

/// Equally spaced targets along one dimension and the taps that they are sums over.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Targets: how many, where the first is, and the distance from one to the next.
    pub count: usize,
    pub first: usize,
    pub gap: usize,
    /// How far the source position moves from one target to the next.
    pub step: usize,
    pub taps: Vec<Tap>,
}

/// A tap along one dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tap {
    /// The source position that it reads for target 0.
    pub at: isize,
    /// Its place in the kernel.
    pub k: usize,
}

impl Line {
    /// The targets `y` of a convolution.
    fn forward(window: &Window, k: usize, y: usize) -> Line {
        let at = |k: usize| (k * window.dilation) as isize - window.padding as isize;
        let taps = (0..k).map(|k| Tap { at: at(k), k }).collect();
        Line { count: y, first: 0, gap: 1, step: window.stride, taps }
    }

    /// The targets `x` of a transposed convolution that leave the remainder `first` modulo the stride.
    fn transposed(window: &Window, k: usize, x: usize, first: usize) -> Line {
        let from = |k: usize| (first + window.padding) as isize - (k * window.dilation) as isize;
        let meets = |k: &usize| from(*k) % window.stride as isize == 0;
        let tap = |k: usize| Tap { at: from(k) / window.stride as isize, k };
        let taps = (0..k).filter(meets).map(tap).collect();
        Line { count: (x - first).div_ceil(window.stride), first, gap: window.stride, step: 1, taps }
    }
}

/// A line for each spatial dimension.
pub(super) type Phase = [Line; MAX_SPATIAL];

/// How many targets there are along each dimension.
pub(super) fn counts(phase: &Phase) -> Lengths {
    std::array::from_fn(|d| phase[d].count)
}

/// The one system of a convolution.
pub(super) fn forward(geometry: &Geometry, sizes: &Sizes) -> Phase {
    std::array::from_fn(|d| Line::forward(&geometry.windows[d], sizes.k[d], sizes.y[d]))
}

/// How many systems a transposed convolution is.
pub(super) fn systems(geometry: &Geometry, sizes: &Sizes) -> usize {
    let systems = |d: usize| geometry.windows[d].stride.min(sizes.x[d]);
    (0..MAX_SPATIAL).fold(1usize, |n, d| n.saturating_mul(systems(d).max(1)))
}

/// The entries of tables that are made of all taps for so many systems.
///
/// # Errors
/// [`opforge_core::Error::OutOfMemory`] for more than fit into memory.
pub(super) fn entries(systems: usize, sizes: &Sizes) -> Result<usize> {
    /// Bytes of what is prepared for a system besides its tables, about.
    const SYSTEM: usize = 1 << 10;
    let taps = sizes.k.iter().fold(0usize, |sum, &k| sum.saturating_add(k));
    // A vector that grows holds up to three times what it needs.
    let tables = taps.saturating_mul(3 * size_of::<Tap>());
    check_available(systems.saturating_mul(tables.saturating_add(SYSTEM)))?;
    let reads = sizes.inputs.max(sizes.outputs).saturating_mul(sizes.taps());
    Ok(systems.saturating_mul(taps).saturating_add(reads))
}

/// The systems of a transposed convolution, which together cover `x`.
pub(super) fn transposed(geometry: &Geometry, sizes: &Sizes) -> Vec<Phase> {
    let [a, b, c]: [Vec<Line>; MAX_SPATIAL] = std::array::from_fn(|d| {
        let (window, x) = (&geometry.windows[d], sizes.x[d]);
        (0..window.stride.min(x)).map(|first| Line::transposed(window, sizes.k[d], x, first)).collect()
    });
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    pairs.flat_map(|(a, b)| c.iter().map(move |c| [a.clone(), b.clone(), c.clone()])).collect()
}

/// Calls `f` with every combination of the dimensions' taps: their source positions and their place in the kernel of these lengths.
pub(super) fn each_tap(phase: &Phase, k: Lengths, mut f: impl FnMut([isize; MAX_SPATIAL], usize)) {
    for a in &phase[0].taps {
        for b in &phase[1].taps {
            checkpoint();
            for c in &phase[2].taps {
                f([a.at, b.at, c.at], (a.k * k[1] + b.k) * k[2] + c.k);
            }
        }
    }
}
