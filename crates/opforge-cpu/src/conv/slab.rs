//! The part of the source that a task reads: a padded copy in the type of the arithmetic, or the source itself where nothing needs padding.

use opforge_core::{Error, Result};
use opforge_runtime::alloc::check_available;

use super::Element;
use super::MAX_SPATIAL;
use super::geometry::Lengths;
use super::phase::{Phase, Tap, each_tap};
use crate::conv::split::Split;
use crate::matmul::{Matrix, pack};
use crate::simd::Simd;

/// Target positions that a task should have, where there are as many.
const TARGETS: usize = 1024;

/// How the targets of one or several systems are divided into blocks along one dimension, and what of the source a block needs.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// The dimension, the targets of a block along it, and the number of blocks.
    pub axis: usize,
    pub len: usize,
    pub count: usize,
    /// How far source positions move from target to target.
    pub step: Lengths,
    /// The source position of the slab's first element, for block 0.
    origin: [isize; MAX_SPATIAL],
    /// Lengths of the slab.
    extent: Lengths,
    /// Channels that are read, and the source's lengths.
    channels: usize,
    source: Lengths,
    /// Elements of a slab; none where tasks read the source in place.
    pub elements: usize,
    in_place: bool,
    /// Whether a position's channels lie next to each other, rather than a channel's positions.
    channels_last: bool,
    /// How lines are divided, so that what neighbouring targets read lies next to each other.
    split: Split,
}

impl Blocks {
    /// The division into at least about `least` blocks of targets of systems whose sources move by the same steps.
    ///
    /// # Errors
    /// When a slab's elements cannot be counted.
    pub fn new(
        op: &'static str,
        phases: &[Phase],
        [channels, least]: [usize; 2],
        source: Lengths,
        exact: bool,
        channels_last: bool,
    ) -> Result<Self> {
        let all: Lengths = std::array::from_fn(|d| phases.iter().map(|phase| phase[d].count).max().unwrap_or(0));
        let axis = all.iter().position(|&n| n > 1).unwrap_or(MAX_SPATIAL - 1);
        let inner: usize = all[axis + 1..].iter().product::<usize>().max(1);
        let total = all[axis].max(1);
        let wanted = (total * inner).div_ceil(TARGETS).max(least.min((total * inner).div_ceil(64)));
        let len = total.div_ceil(wanted.clamp(1, total));
        let mut targets = all;
        targets[axis] = len.min(all[axis]);
        let step: Lengths = std::array::from_fn(|d| phases.first().map_or(1, |phase| phase[d].step));
        let taps = |d: usize| phases.iter().flat_map(move |phase| &phase[d].taps).map(|tap: &Tap| tap.at);
        let spans: [_; MAX_SPATIAL] = std::array::from_fn(|d| (taps(d).min().unwrap_or(0), taps(d).max().unwrap_or(0)));
        let reach = |d: usize, targets: Lengths| targets[d].saturating_sub(1) * step[d];
        let origin = spans.map(|(first, _)| first);
        let extent = std::array::from_fn(|d| reach(d, targets) + (spans[d].1 - spans[d].0) as usize + 1);
        let inside = |d: usize| spans[d].0 >= 0 && reach(d, all) as isize + spans[d].1 < source[d] as isize;
        let last = MAX_SPATIAL - 1;
        let adjacent = step[last] == 1 || phases.iter().all(|phase| phase[last].taps.len() <= 1);
        let in_place = exact && !channels_last && adjacent && (0..MAX_SPATIAL).all(inside);
        let count = total.div_ceil(len);
        let split = Split::new(extent[last], if in_place || channels_last { 1 } else { step[last] });
        let elements = extent[..last].iter().chain([&split.len()]).try_fold(channels, |n, &d| n.checked_mul(d));
        let Some(elements) = elements.filter(|&n| in_place || n <= isize::MAX as usize / 64) else {
            let given = format!("{source:?} padded to {extent:?}");
            return Err(Error::shape(op, "input", given, "a padded input that fits the address space"));
        };
        let elements = if in_place { 0 } else { elements };
        Ok(Blocks {
            axis,
            len,
            count,
            step,
            origin,
            extent,
            channels,
            source,
            elements,
            in_place,
            channels_last,
            split,
        })
    }

    /// Whether slabs are copies of the source, whose lines neighbouring targets read side by side.
    pub fn is_copied(&self) -> bool {
        !self.in_place && !self.channels_last
    }

    /// The lengths within which the slab's elements are addressed.
    fn lengths(&self) -> Lengths {
        let [a, b, _] = self.extent;
        if self.in_place { self.source } else { [a, b, self.split.len()] }
    }

    /// How far a block's reads move, in elements, from target to target along each dimension.
    pub fn steps(&self) -> Lengths {
        let (_, strides) = self.strides();
        let [a, b, c] = self.step;
        let c = if self.split.step > 1 { 1 } else { c };
        [a * strides[0], b * strides[1], c * strides[2]]
    }

    /// From channel to channel and from position to position; along the last dimension, within a line's part.
    fn strides(&self) -> (usize, Lengths) {
        let [_, b, c] = self.lengths();
        let unit = if self.channels_last { self.channels } else { 1 };
        let channel = if self.channels_last { 1 } else { self.lengths().iter().product() };
        (channel, [b * c * unit, c * unit, unit])
    }

    /// Where each tap of each channel reads for the block's first target, and the tap's place in the kernel: channels outermost, or
    /// innermost where they come last.
    ///
    /// # Errors
    /// For more of them than memory could hold.
    pub fn reads(&self, phase: &Phase, k: Lengths) -> Result<Vec<Read>> {
        let (channel, strides) = self.strides();
        let count = phase.iter().fold(self.channels, |n, line| n.saturating_mul(line.taps.len()));
        // Beside these the weights' places, the taps, and what growing vectors hold at a time.
        check_available(count.saturating_mul(5 * size_of::<Read>()))?;
        let mut taps = Vec::new();
        each_tap(phase, k, |at, k| {
            let [a, b, c]: Lengths = std::array::from_fn(|d| (at[d] - self.origin[d]) as usize);
            let at = a * strides[0] + b * strides[1] + self.split.at(c) * strides[2];
            taps.push(Read { at, channel: 0, k });
        });
        let read = |c: usize, tap: &Read| Read { at: tap.at + c * channel, channel: c, k: tap.k };
        Ok(if self.channels_last {
            taps.iter().flat_map(|tap| (0..self.channels).map(move |c| read(c, tap))).collect()
        } else {
            (0..self.channels).flat_map(|c| taps.iter().map(move |tap| read(c, tap))).collect()
        })
    }

    /// The targets of a block along each dimension, of so many in all.
    pub fn targets_of(&self, block: usize, mut counts: Lengths) -> Lengths {
        counts[self.axis] = self.len.min(counts[self.axis].saturating_sub(block * self.len));
        counts
    }

    /// The slab of a block: the source itself, or `room` filled from it. `source` points to the first of the channels.
    ///
    /// # Safety
    /// The source is valid for its channels; `room` for as many elements as the slab has.
    #[inline(always)]
    pub unsafe fn open<S: Simd, E: Element>(
        &self,
        source: *const E,
        block: usize,
        room: *mut E::Compute,
    ) -> *const E::Compute {
        let mut origin = self.origin;
        origin[self.axis] += (block * self.len * self.step[self.axis]) as isize;
        // SAFETY: in place, what blocks read lies within the source's channels; else `room` holds the `elements` of a slab.
        unsafe {
            if self.in_place {
                let (_, strides) = self.strides();
                let from: usize = (0..MAX_SPATIAL).map(|d| origin[d] as usize * strides[d]).sum();
                return source.add(from).cast();
            }
            room.write_bytes(0, self.elements);
            self.fill::<S, E>(source, origin, room);
        }
        room
    }

    /// The slab's positions along a dimension that lie within the source.
    #[inline(always)]
    fn inside(&self, origin: [isize; MAX_SPATIAL], d: usize) -> std::ops::Range<usize> {
        let from = (-origin[d]).clamp(0, self.extent[d] as isize);
        let to = (self.source[d] as isize - origin[d]).clamp(from, self.extent[d] as isize);
        from as usize..to as usize
    }

    /// Copies what of the slab lies within the source, line by line.
    ///
    /// # Safety
    /// As [`Blocks::open`].
    #[inline(always)]
    unsafe fn fill<S: Simd, E: Element>(&self, source: *const E, origin: [isize; MAX_SPATIAL], room: *mut E::Compute) {
        // Computed once: what is written might be this as far as the compiler knows.
        let (split, channels, channels_last) = (self.split, self.channels, self.channels_last);
        let ([_, rows, columns], (channel, strides)) = (self.source, self.strides());
        let plane: usize = self.source.iter().product();
        let inside: [_; MAX_SPATIAL] = std::array::from_fn(|d| self.inside(origin, d));
        let (first, len) = (inside[2].start, inside[2].len());
        if len == 0 {
            return;
        }
        for a in inside[0].clone() {
            for b in inside[1].clone() {
                let row = (origin[0] + a as isize) as usize * rows + (origin[1] + b as isize) as usize;
                // SAFETY: `inside` keeps the line within the source's channels, and positions from the slab's origin within `room`.
                unsafe {
                    let from = source.add(row * columns + (origin[2] + first as isize) as usize);
                    let to = room.add(a * strides[0] + b * strides[1]);
                    if channels_last {
                        let from = Matrix { at: from, row: 1, column: plane };
                        pack::<E>(from, len, channels, to.add(first * strides[2]), channels);
                        continue;
                    }
                    for c in 0..channels {
                        split.fill::<S, E>(from.add(c * plane), to.add(c * channel), first, len);
                    }
                }
            }
        }
    }
}

/// One term of the sums: where the slab is read, and what it is multiplied with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    /// The slab's element for the block's first target.
    pub at: usize,
    pub channel: usize,
    /// The place in the kernel.
    pub k: usize,
}
