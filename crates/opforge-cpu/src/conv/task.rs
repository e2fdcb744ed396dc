//! One task of a convolution: some target channels at a block of target positions.

use std::ops::Range;
use std::slice;

use opforge_core::Result;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::checkpoint;

use super::Element;
use super::MAX_SPATIAL;
use super::correlate::{Correlation, InPlace, System, Tensors, deepest_block, is_direct};
use super::geometry::Lengths;
use super::panel::{Runs, panels_len, position};
use super::phase::counts;
use super::piece::{Piece, Targets};
use super::product::{PRODUCTS, Product, Total, block_depth};
use super::slab::Read;
use crate::matmul::operand::{Operand, add_to_totals, round_totals};
use crate::matmul::{Ahead, Args};
use crate::simd::stored::{VectorOf, lie, load_as, store_strided};
use crate::simd::{Bits, Float, Routine, Simd, Vector};

/// Lines of targets that are summed side by side, so that a weight is loaded once for all.
const LINES: usize = 4;
/// Products that are added to one sum before it is added to another: errors grow with the number of additions to one.
const RUN: usize = 1024;

impl<E: Element> Routine for Correlation<E> {
    type Args = (Tensors<E>, Range<usize>);
    type Output = Result<()>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (tensors, tasks): Self::Args) -> Result<()> {
        let room = Workspace::new(self.room * size_of::<E::Compute>())?;
        for task in tasks {
            // SAFETY: the room is as large as a task needs.
            unsafe { Part::new(self, tensors, task).run::<S>(room.as_ptr().cast()) };
        }
        Ok(())
    }
}

/// What one task computes.
struct Part<'a, E: Element> {
    correlation: &'a Correlation<E>,
    tensors: Tensors<E>,
    /// Which images of the batch, group of channels, and block of positions.
    images: Range<usize>,
    group: usize,
    block: usize,
    /// Target channels of the group.
    channels: Range<usize>,
}

impl<'a, E: Element> Part<'a, E> {
    #[inline(always)]
    fn new(correlation: &'a Correlation<E>, tensors: Tensors<E>, task: usize) -> Self {
        let (spec, rows, blocks) = (&correlation.spec, correlation.rows, correlation.blocks.count);
        let parts = spec.channels.target.div_ceil(rows);
        let (rest, row) = (task / parts, task % parts * rows);
        let (rest, block) = (rest / blocks, rest % blocks);
        let (first, group) = (rest / spec.channels.groups * correlation.images, rest % spec.channels.groups);
        let images = first..spec.batch.min(first + correlation.images);
        Part { correlation, tensors, images, group, block, channels: row..spec.channels.target.min(row + rows) }
    }

    /// # Safety
    /// The tensors are valid, and the room for what a task needs.
    #[inline(always)]
    unsafe fn run<S: Simd>(&self, room: *mut E::Compute) {
        let correlation = self.correlation;
        // SAFETY: the room holds the slabs and after them what each way of computing takes.
        unsafe {
            let slab = self.open::<S>(room);
            let room = room.add(self.images.len() * correlation.blocks.elements);
            if is_direct(&correlation.spec) {
                for system in &correlation.systems {
                    for channel in self.channels.clone() {
                        self.direct::<S>(system, slab, channel, room);
                    }
                }
                return;
            }
            if let Some(how) = &correlation.slab {
                return self.products_in_place::<S>(how, slab, room);
            }
            for targets in correlation.targets(self.block, self.images.len()) {
                // A loop, as a closure would be compiled without the vectors' instructions.
                for piece in targets.pieces() {
                    self.products::<S>(&targets, &piece, slab, room);
                }
            }
        }
    }

    /// The slabs of the images, one after the other: in the source, or in `room`.
    ///
    /// # Safety
    /// As [`Part::run`].
    #[inline(always)]
    unsafe fn open<S: Simd>(&self, room: *mut E::Compute) -> *const E::Compute {
        let blocks = &self.correlation.blocks;
        let mut first = room.cast_const();
        if self.correlation.systems.iter().all(|system| system.reads.is_empty()) {
            return first;
        }
        for image in self.images.clone().rev() {
            let at =
                image * self.source_step() + self.group * self.source_step() / self.correlation.spec.channels.groups;
            // SAFETY: the image's group of channels is within the source, and the room has a slab's elements for each image.
            first = unsafe {
                let room = room.add((image - self.images.start) * blocks.elements);
                blocks.open::<S, E>(self.tensors.source.get().add(at), self.block, room)
            };
        }
        first
    }

    /// From one image of the source to the next.
    #[inline(always)]
    fn source_step(&self) -> usize {
        let spec = &self.correlation.spec;
        spec.channels.groups * spec.channels.source * spec.source.iter().product::<usize>()
    }

    /// How far reads move from one image to the next, and from target to target.
    #[inline(always)]
    fn steps(&self) -> (usize, Lengths) {
        let blocks = &self.correlation.blocks;
        (if blocks.is_copied() { blocks.elements } else { self.source_step() }, blocks.steps())
    }

    /// The bias of a channel of the group.
    ///
    /// # Safety
    /// The tensors are valid.
    #[inline(always)]
    unsafe fn bias(&self, channel: usize) -> E::Compute {
        let bias = self.tensors.bias.get();
        if bias.is_null() {
            return E::Compute::default();
        }
        // SAFETY: the bias, not null, has a number for each target channel of each group.
        Operand::widen(unsafe { *bias.add(self.group * self.correlation.spec.channels.target + channel) })
    }

    /// Where a channel of the group begins in the target, in one of the task's images.
    #[inline(always)]
    fn target(&self, image: usize, channel: usize) -> *mut E {
        let spec = &self.correlation.spec;
        let plane: usize = spec.target.iter().product();
        let channels =
            ((self.images.start + image) * spec.channels.groups + self.group) * spec.channels.target + channel;
        self.tensors.target.get().wrapping_add(channels * plane)
    }

    /// Where the target has a system's position with coordinates in this block.
    #[inline(always)]
    fn place(&self, system: &System, mut at: Lengths) -> usize {
        let blocks = &self.correlation.blocks;
        at[blocks.axis] += self.block * blocks.len;
        let place = |d: usize| system.phase[d].first + at[d] * system.phase[d].gap;
        let target = &self.correlation.spec.target;
        (place(0) * target[1] + place(1)) * target[2] + place(2)
    }

    /// A piece by packed weights times panels: each system's sums after the other's, then whole lines.
    ///
    /// # Safety
    /// As [`Part::run`]; the slabs are open.
    #[inline(always)]
    unsafe fn products<S: Simd>(
        &self,
        targets: &Targets<'_>,
        piece: &Piece,
        slab: *const E::Compute,
        room: *mut E::Compute,
    ) {
        let correlation = self.correlation;
        let plane: usize = correlation.spec.target.iter().product();
        let (rows, most) = (self.channels.len(), targets.columns(piece).max().unwrap_or(0));
        // SAFETY: the room holds a panel for each read, then `rows * columns` sums of each system and the totals of one.
        unsafe {
            let all = room.add(panels_len(&correlation.kernels, deepest_block(targets.systems), most));
            let totals = all.wrapping_add(rows * targets.columns(piece).sum::<usize>()).cast::<u8>();
            let totals: *mut Total<E::Compute> =
                totals.wrapping_add(totals.align_offset(align_of::<Total<E::Compute>>())).cast();
            let mut sums = all;
            for system in targets.systems {
                let numbers = targets.numbers(piece, system);
                let columns = numbers.len();
                if correlation.in_place {
                    let at = self.place(system, position(numbers.start, targets.of(system)));
                    let to = self.target(0, self.channels.start).add(at).cast();
                    return self.sums::<S>(system, targets.of(system), numbers, slab, room, (to, plane), totals);
                }
                self.sums::<S>(system, targets.of(system), numbers, slab, room, (sums, columns), totals);
                sums = sums.add(rows * columns);
            }
            self.finish::<S>(targets, piece, all);
        }
    }

    /// The sums of a system's targets, given by their numbers, in rows for the channels: where they begin, and how far apart they are.
    ///
    /// # Safety
    /// As [`Part::products`]; the sums are writable, and the totals for as many, if there are any.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    unsafe fn sums<S: Simd>(
        &self,
        system: &System,
        targets: Lengths,
        numbers: Range<usize>,
        slab: *const E::Compute,
        room: *mut E::Compute,
        (c, c_row): (*mut E::Compute, usize),
        totals: *mut Total<E::Compute>,
    ) {
        let (correlation, deep, rows) = (self.correlation, system.reads.len(), self.channels.len());
        let (depth, columns, in_totals) = (block_depth(deep), numbers.len(), correlation.in_totals);
        let a = system.packed + (self.group * correlation.spec.channels.target + self.channels.start) * deep;
        let sums = rows * columns;
        // SAFETY: as the caller promises; the weights of the system's rows lie at `a`.
        unsafe {
            let a = self.tensors.packed.get().add(a);
            self.start(system, c, c_row, columns);
            for (number, from) in (0..deep).step_by(depth).enumerate() {
                checkpoint();
                let depth = depth.min(deep - from);
                self.pack::<S>(slab, targets, numbers.clone(), &system.reads[from..from + depth], room);
                let begins = in_totals && number % PRODUCTS == 0;
                let add = from > 0 && !begins || from == 0 && correlation.spec.bias;
                let b = room.cast_const();
                Product { a, a_depth: deep, from, b, c, c_row, rows, columns, depth, add }.run(&correlation.kernels);
                if in_totals && (number % PRODUCTS == PRODUCTS - 1 || from + depth == deep) {
                    let totals = slice::from_raw_parts_mut(totals, sums);
                    add_to_totals(slice::from_raw_parts(c, sums), totals, number < PRODUCTS);
                }
            }
            if in_totals && deep > 0 {
                round_totals(slice::from_raw_parts(totals, sums), slice::from_raw_parts_mut(c, sums));
            }
        }
    }

    /// Packed weights times the slab as it is, a part of a line of targets at a time: of each line, or of those of a plane, joined by what the slab
    /// has between them.
    ///
    /// # Safety
    /// As [`Part::run`]; the slab is open, and a register block may be read beyond its end. The room is for one.
    #[inline(always)]
    unsafe fn products_in_place<S: Simd>(
        &self,
        InPlace { offsets, joined }: &InPlace,
        slab: *const E::Compute,
        room: *mut E::Compute,
    ) {
        let (width, plane) = (self.correlation.kernels.width(), self.correlation.spec.target.iter().product());
        let (system, steps) = (&self.correlation.systems[0], self.correlation.blocks.steps());
        let [planes, rows, line] = self.correlation.blocks.targets_of(self.block, counts(&system.phase));
        let (lines, len) = if *joined { (1, (rows - 1) * steps[1] + line) } else { (rows, line) };
        // SAFETY: sums are made at the block's places in the target, or in the room; reads may pass the slab's end.
        unsafe {
            let first = self.target(0, self.channels.start).cast::<E::Compute>();
            self.start(system, first.add(self.place(system, [0; MAX_SPATIAL])), plane, planes * rows * line);
            for at in 0..planes * lines {
                let (a, b) = (at / lines, at % lines);
                let from = slab.add(a * steps[0] + b * steps[1]);
                for j in (0..len).step_by(width) {
                    let (b, c, columns) = (b + j / steps[1], j % steps[1], width.min(len - j));
                    let to = |b: usize, c: usize| first.add(self.place(system, [a, b, c]));
                    if c + columns <= line {
                        self.columns(offsets, from.add(j), to(b, c), plane, columns);
                        continue;
                    }
                    self.start(system, room, width, columns);
                    self.columns(offsets, from.add(j), room, width, columns);
                    let (mut done, mut b, mut c) = (0, b, c);
                    while done < columns {
                        let n = line.saturating_sub(c).min(columns - done);
                        for channel in 0..self.channels.len() {
                            let sums = room.add(channel * width + done);
                            copy::<S, E>(sums, to(b, c).wrapping_add(channel * plane), n);
                        }
                        (done, b, c) = (done + steps[1] - c, b + 1, 0);
                    }
                }
            }
        }
    }

    /// Some columns of the products of all the task's channels, read from `b` on.
    ///
    /// # Safety
    /// As [`Part::products_in_place`]; `c` is writable for the columns of each channel, `c_row` apart.
    #[inline(always)]
    unsafe fn columns(
        &self,
        offsets: &[usize],
        b: *const E::Compute,
        c: *mut E::Compute,
        c_row: usize,
        columns: usize,
    ) {
        let (kernels, spec, rows) = (&self.correlation.kernels, &self.correlation.spec, self.channels.len());
        let (height, deep) = (kernels.rows(), offsets.len());
        let packed = (self.group * spec.channels.target + self.channels.start) * deep;
        let packed = self.tensors.packed.get().wrapping_add(packed);
        for i in (0..rows).step_by(height) {
            let rows = height.min(rows - i);
            for (run, offsets) in offsets.chunks(RUN).enumerate() {
                let (depth, b_offsets) = (offsets.len(), offsets.as_ptr());
                let a = packed.wrapping_add(i * deep + run * RUN * rows);
                let (add, ahead) = (run > 0 || spec.bias, Ahead::nothing(a));
                // SAFETY: a packed row has `deep` weights, and `c` a row for each channel.
                unsafe {
                    let c = c.add(i * c_row);
                    kernels.get_indirect(rows, columns)(&Args {
                        depth,
                        a,
                        b,
                        b_row: 0,
                        b_offsets,
                        c,
                        c_row,
                        columns,
                        add,
                        ahead,
                    });
                }
            }
        }
    }

    /// Sets sums to the bias, or to zero where nothing will be stored over them.
    ///
    /// # Safety
    /// `sums` is writable for `columns` numbers of each of the channels, `row` apart.
    #[inline(always)]
    unsafe fn start(&self, system: &System, sums: *mut E::Compute, row: usize, columns: usize) {
        if !(self.correlation.spec.bias || system.reads.is_empty()) {
            return;
        }
        for (i, channel) in self.channels.clone().enumerate() {
            // SAFETY: sums have a row, `row` apart, of `columns` for each of the channels.
            unsafe { std::slice::from_raw_parts_mut(sums.add(i * row), columns).fill(self.bias(channel)) };
        }
    }

    /// Packs the panels of some targets and reads.
    ///
    /// # Safety
    /// The slabs are open; the room holds the columns' panels and what a row overwrites after them.
    #[inline(always)]
    unsafe fn pack<S: Simd>(
        &self,
        slab: *const E::Compute,
        targets: Lengths,
        numbers: Range<usize>,
        reads: &[Read],
        room: *mut E::Compute,
    ) {
        let (width, steps) = (self.correlation.kernels.width(), self.steps());
        for (panel, j) in numbers.clone().step_by(width).enumerate() {
            let runs = Runs::of_targets(j, width.min(numbers.end - j), targets, steps);
            let panel = room.wrapping_add(panel * width * reads.len());
            for (row, read) in reads.iter().enumerate() {
                // SAFETY: the slabs are valid at every read for these targets; what a row overwrites of the next is packed after it.
                unsafe { runs.copy::<S, E::Compute>(slab.add(read.at), panel.add(row * width)) };
            }
        }
    }

    /// Rounds a piece's sums and writes them to their places in the target.
    ///
    /// # Safety
    /// `sums` holds those of each system for each of the channels; these targets are the task's alone.
    #[inline(always)]
    unsafe fn finish<S: Simd>(&self, targets: &Targets<'_>, piece: &Piece, sums: *const E::Compute) {
        let [planes, rows, _] = targets.of(&targets.systems[0]);
        let gap = targets.systems[0].phase[MAX_SPATIAL - 1].gap;
        let mut done = 0;
        while done < piece.lines.len() {
            let line = piece.lines.start + done;
            let (image, a, b) = (line / rows / planes, line / rows % planes, line % rows);
            // Lines without gaps lie one after the other.
            let lines = if self.correlation.whole { planes * rows - line % (planes * rows) } else { 1 };
            let lines = lines.min(piece.lines.len() - done);
            for (i, channel) in self.channels.clone().enumerate() {
                let mut sums = sums;
                let mut pair = [(sums, 0); 2];
                for (which, system) in targets.systems.iter().enumerate() {
                    let (part, columns) = (targets.part(piece, system), targets.numbers(piece, system).len());
                    // SAFETY: row `i` of the system's sums has `columns`, of which each line's are `part.len()`.
                    let from = unsafe { sums.add(i * columns + done * part.len()) };
                    sums = sums.wrapping_add(self.channels.len() * columns);
                    let to = self.target(image, channel).wrapping_add(self.place(system, [a, b, part.start]));
                    if gap == 2 && targets.systems.len() == 2 {
                        pair[which] = (from, part.len());
                        if which == 1 {
                            // SAFETY: the systems' targets alternate from the first one's on.
                            unsafe { alternate::<S, E>(pair, to.sub(1)) };
                        }
                    } else {
                        // SAFETY: `to` is writable for these lines' parts.
                        unsafe { write_line::<S, E>(from, lines * part.len(), to, gap) };
                    }
                }
            }
            done += lines;
        }
    }

    /// One target channel, straight from the slab.
    ///
    /// # Safety
    /// As [`Part::run`]; the slab is open.
    #[inline(always)]
    unsafe fn direct<S: Simd>(&self, system: &System, slab: *const E::Compute, channel: usize, room: *mut E::Compute) {
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

/// Copies sums that are not rounded.
///
/// # Safety
/// `sums` is valid for `len` of them, `to` for as many.
#[inline(always)]
unsafe fn copy<S: Simd, E: Element>(sums: *const E::Compute, to: *mut E::Compute, len: usize) {
    let lanes = VectorOf::<E, S>::LANES;
    for i in (0..len).step_by(lanes) {
        let n = lanes.min(len - i);
        // SAFETY: `n` are left from `i` on.
        unsafe { VectorOf::<E, S>::load_partial(sums.add(i), n).store_partial(to.add(i), n) };
    }
}

/// Rounds the sums of a line and writes them, `gap` apart.
///
/// # Safety
/// `sums` is valid for `len` of them, `to` for as many elements.
#[inline(always)]
unsafe fn write_line<S: Simd, E: Element>(sums: *const E::Compute, len: usize, to: *mut E, gap: usize) {
    let lanes = VectorOf::<E, S>::LANES;
    for i in (0..len).step_by(lanes) {
        let n = lanes.min(len - i);
        // SAFETY: `n` of the `len` sums are left from `i` on, and as many elements, `gap` apart.
        unsafe { store_strided::<S, E>(VectorOf::<E, S>::load_partial(sums.add(i), n), n, to.add(i * gap), gap) };
    }
}

/// Rounds two lines of sums, the first as long as the second or one longer, and writes them in turns.
///
/// # Safety
/// Each is valid for its length, `to` for both together.
#[inline(always)]
unsafe fn alternate<S: Simd, E: Element>([(even, evens), (odd, odds)]: [(*const E::Compute, usize); 2], to: *mut E) {
    let lanes = VectorOf::<E, S>::LANES;
    let (number, one) = (VectorOf::<E, S>::numbers(), Bits::splat(1));
    let low = (number >> 1) + ((number & one) << lanes.trailing_zeros());
    let high = low + Bits::splat(lanes as i64 / 2);
    for i in (0..evens).step_by(lanes) {
        let (n, m) = (lanes.min(evens - i), lanes.min(odds.saturating_sub(i)));
        // SAFETY: `n` and `m` sums are left from `i` on, and `n + m` elements from `2 * i` on.
        unsafe {
            let even = VectorOf::<E, S>::load_partial(even.add(i), n);
            let odd = VectorOf::<E, S>::load_partial(odd.add(i), m);
            let to = to.add(2 * i);
            store_strided::<S, E>(even.lookup(odd, low), lanes.min(n + m), to, 1);
            if n + m > lanes {
                store_strided::<S, E>(even.lookup(odd, high), n + m - lanes, to.add(lanes), 1);
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
