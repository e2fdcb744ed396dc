//! One task of a convolution: some target channels at a block of target positions.

use std::ops::Range;
use std::slice;

use opforge_core::Result;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::checkpoint;

use super::Element;
use super::MAX_SPATIAL;
use super::correlate::{Correlation, Plan, Tensors, is_direct};
use super::geometry::Lengths;
use super::panel::{Runs, panels_len, position};
use super::product::{COLUMNS, PRODUCTS, Product, Total, block_depth};
use super::slab::Read;
use crate::matmul::operand::{Operand, add_to_totals, round_totals};
use crate::matmul::{Ahead, Args};
use crate::simd::stored::{VectorOf, lie, load_as, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};

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
            let plan = &self.plans[self.plans.partition_point(|plan| plan.first_task <= task) - 1];
            // SAFETY: the task is one of the plan's, the room as large as any plan's needs.
            unsafe { Part::new(self, plan, tensors, task - plan.first_task).run::<S>(room.as_ptr().cast()) };
        }
        Ok(())
    }
}

/// The targets of one task.
struct Part<'a, E: Element> {
    correlation: &'a Correlation<E>,
    plan: &'a Plan,
    tensors: Tensors<E>,
    /// Which image of the batch, group of channels, and block of positions.
    image: usize,
    group: usize,
    block: usize,
    /// Target channels of the group.
    channels: Range<usize>,
    /// Target positions along each dimension.
    targets: Lengths,
}

impl<'a, E: Element> Part<'a, E> {
    #[inline(always)]
    fn new(correlation: &'a Correlation<E>, plan: &'a Plan, tensors: Tensors<E>, task: usize) -> Self {
        let (channels, blocks) = (&correlation.spec.channels, &plan.blocks);
        let parts = channels.target.div_ceil(plan.rows);
        let (rest, row) = (task / parts, task % parts * plan.rows);
        let (image, block) = (rest / blocks.count, rest % blocks.count);
        Part {
            correlation,
            plan,
            tensors,
            image: image / channels.groups,
            group: image % channels.groups,
            block,
            channels: row..channels.target.min(row + plan.rows),
            targets: blocks.targets_of(block, plan.phase[blocks.axis].count),
        }
    }

    /// # Safety
    /// The tensors are valid, and the room for what the plan needs.
    #[inline(always)]
    unsafe fn run<S: Simd>(&self, room: *mut E::Compute) {
        let spec = &self.correlation.spec;
        let plane: usize = spec.source.iter().product();
        let image = (self.image * spec.channels.groups + self.group) * spec.channels.source * plane;
        // SAFETY: the image's group of channels is within the source; the room holds the slab and after it what this plan's way takes.
        unsafe {
            let slab = match self.plan.reads.is_empty() {
                true => room.cast_const(),
                false => self.plan.blocks.open::<S, E>(self.tensors.source.get().add(image), self.block, room),
            };
            let room = room.add(self.plan.blocks.elements);
            match is_direct(spec) {
                true => self.channels.clone().for_each(|channel| self.direct::<S>(slab, channel, room)),
                false => match &self.plan.offsets {
                    Some(offsets) => self.products_in_place(slab, offsets),
                    None => self.products::<S>(slab, room),
                },
            }
        }
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

    /// Where a channel of the group begins in the target.
    #[inline(always)]
    fn target(&self, channel: usize) -> *mut E {
        let spec = &self.correlation.spec;
        let plane: usize = spec.target.iter().product();
        let channels = (self.image * spec.channels.groups + self.group) * spec.channels.target + channel;
        self.tensors.target.get().wrapping_add(channels * plane)
    }

    /// Where the target has the position with coordinates in this block.
    #[inline(always)]
    fn place(&self, mut at: Lengths) -> usize {
        at[self.plan.blocks.axis] += self.block * self.plan.blocks.len;
        let place = |d: usize| self.plan.phase[d].first + at[d] * self.plan.phase[d].gap;
        let target = &self.correlation.spec.target;
        (place(0) * target[1] + place(1)) * target[2] + place(2)
    }

    /// Packed weights times panels, some columns and some depth at a time.
    ///
    /// # Safety
    /// As [`Part::run`]; the slab is open.
    #[inline(always)]
    unsafe fn products<S: Simd>(&self, slab: *const E::Compute, room: *mut E::Compute) {
        let (plan, kernels) = (self.plan, &self.correlation.kernels);
        let (deep, rows) = (plan.reads.len(), self.channels.len());
        let depth = block_depth(deep);
        let all: usize = self.targets.iter().product();
        let plane: usize = self.correlation.spec.target.iter().product();
        let a = plan.packed + (self.group * self.correlation.spec.channels.target + self.channels.start) * deep;
        for start in (0..all).step_by(COLUMNS) {
            let columns = COLUMNS.min(all - start);
            // SAFETY: positions are the block's; the room holds a panel for each read, then `rows * columns` sums and their totals.
            unsafe {
                let (c, c_row) = if plan.in_place {
                    let at = self.place(position(start, self.targets));
                    (self.target(self.channels.start).add(at).cast::<E::Compute>(), plane)
                } else {
                    (room.add(panels_len(kernels, depth, columns)), columns)
                };
                self.start(c, c_row, columns);
                let (sums, totals) = (rows * columns, c.wrapping_add(rows * columns).cast::<u8>());
                let totals = totals.wrapping_add(totals.align_offset(align_of::<Total<E::Compute>>())).cast();
                for (number, from) in (0..deep).step_by(depth).enumerate() {
                    checkpoint();
                    let depth = depth.min(deep - from);
                    self.pack::<S>(slab, start..start + columns, from..from + depth, room);
                    let a = self.tensors.packed.get().add(a);
                    let begins = plan.in_totals && number % PRODUCTS == 0;
                    let add = from > 0 && !begins || from == 0 && self.correlation.spec.bias;
                    let b = room.cast_const();
                    Product { a, a_depth: deep, from, b, c, c_row, rows, columns, depth, add }.run(kernels);
                    if plan.in_totals && (number % PRODUCTS == PRODUCTS - 1 || from + depth == deep) {
                        let totals = slice::from_raw_parts_mut(totals, sums);
                        add_to_totals(slice::from_raw_parts(c, sums), totals, number < PRODUCTS);
                    }
                }
                if plan.in_totals {
                    round_totals(slice::from_raw_parts(totals, sums), slice::from_raw_parts_mut(c, sums));
                }
                if !plan.in_place {
                    self.finish::<S>(c, start, columns);
                }
            }
        }
    }

    /// Packed weights times the slab as it is, a part of a line of targets at a time.
    ///
    /// # Safety
    /// As [`Part::run`]; the slab is open, and a register block may be read beyond its end.
    unsafe fn products_in_place(&self, slab: *const E::Compute, offsets: &[usize]) {
        let (plan, kernels, spec) = (self.plan, &self.correlation.kernels, &self.correlation.spec);
        let (height, width, rows) = (kernels.rows(), kernels.width(), self.channels.len());
        let (steps, plane): (_, usize) = (plan.blocks.steps(), spec.target.iter().product());
        let deep = offsets.len();
        let a = plan.packed + (self.group * spec.channels.target + self.channels.start) * deep;
        let first = self.target(self.channels.start).cast::<E::Compute>();
        // SAFETY: sums are made at the block's places in the target; a packed row has `deep` weights, and reads may pass the slab's end.
        unsafe {
            let a = self.tensors.packed.get().add(a);
            self.start(first.add(self.place([0; MAX_SPATIAL])), plane, self.targets.iter().product());
            for line in 0..self.targets[0] * self.targets[1] {
                let at = [line / self.targets[1], line % self.targets[1], 0];
                let (b, c) = (slab.add(at[0] * steps[0] + at[1] * steps[1]), first.add(self.place(at)));
                for j in (0..self.targets[2]).step_by(width) {
                    let columns = width.min(self.targets[2] - j);
                    for i in (0..rows).step_by(height) {
                        let rows = height.min(rows - i);
                        for (run, offsets) in offsets.chunks(RUN).enumerate() {
                            let a = a.wrapping_add(i * deep + run * RUN * rows);
                            kernels.get_indirect(rows, columns)(&Args {
                                depth: offsets.len(),
                                a,
                                b: b.add(j * steps[2]),
                                b_row: 0,
                                b_offsets: offsets.as_ptr(),
                                c: c.add(i * plane + j),
                                c_row: plane,
                                columns,
                                add: run > 0 || spec.bias,
                                ahead: Ahead::nothing(a),
                            });
                        }
                    }
                }
            }
        }
    }

    /// Sets sums to the bias, or to zero where nothing will be stored over them.
    ///
    /// # Safety
    /// `sums` is writable for `columns` numbers of each of the channels, `row` apart.
    #[inline(always)]
    unsafe fn start(&self, sums: *mut E::Compute, row: usize, columns: usize) {
        if !(self.correlation.spec.bias || self.plan.reads.is_empty()) {
            return;
        }
        for (i, channel) in self.channels.clone().enumerate() {
            // SAFETY: sums have a row, `row` apart, of `columns` for each of the channels.
            unsafe { std::slice::from_raw_parts_mut(sums.add(i * row), columns).fill(self.bias(channel)) };
        }
    }

    /// Packs the panels of some target positions and reads.
    ///
    /// # Safety
    /// The slab is open; the room holds the columns' panels and what a row overwrites after them.
    #[inline(always)]
    unsafe fn pack<S: Simd>(
        &self,
        slab: *const E::Compute,
        columns: Range<usize>,
        reads: Range<usize>,
        room: *mut E::Compute,
    ) {
        let (width, steps) = (self.correlation.kernels.width(), self.plan.blocks.steps());
        for (panel, j) in columns.clone().step_by(width).enumerate() {
            let runs = Runs::of_targets(j, width.min(columns.end - j), self.targets, steps);
            let panel = room.wrapping_add(panel * width * reads.len());
            for (row, read) in self.plan.reads[reads.clone()].iter().enumerate() {
                // SAFETY: the slab is valid at every read for the block's targets; what a row overwrites of the next is packed after it.
                unsafe { runs.copy::<S, E::Compute>(slab.add(read.at), panel.add(row * width)) };
            }
        }
    }

    /// Rounds sums and writes them to their places in the target.
    ///
    /// # Safety
    /// `sums` holds `columns` of each of the channels; these targets are the task's alone.
    #[inline(always)]
    unsafe fn finish<S: Simd>(&self, sums: *const E::Compute, start: usize, columns: usize) {
        let mut done = 0;
        while done < columns {
            let at = position(start + done, self.targets);
            let len = (self.targets[MAX_SPATIAL - 1] - at[MAX_SPATIAL - 1]).min(columns - done);
            for (i, channel) in self.channels.clone().enumerate() {
                // SAFETY: row `i` of the sums has `columns`, of which `done..done + len` are targets of one line.
                unsafe { self.write_line::<S>(sums.add(i * columns + done), channel, at, len) };
            }
            done += len;
        }
    }

    /// # Safety
    /// As [`Part::finish`], for `len` targets of one line.
    #[inline(always)]
    unsafe fn write_line<S: Simd>(&self, sums: *const E::Compute, channel: usize, at: Lengths, len: usize) {
        let (lanes, gap) = (VectorOf::<E, S>::LANES, self.plan.phase[MAX_SPATIAL - 1].gap);
        let to = self.target(channel).wrapping_add(self.place(at));
        for i in (0..len).step_by(lanes) {
            let n = lanes.min(len - i);
            // SAFETY: `n` of the line's `len` sums are left from `i` on, and as many targets, `gap` apart.
            unsafe {
                store_strided::<S, E>(VectorOf::<E, S>::load_partial(sums.add(i), n), n, to.add(i * gap), gap);
            }
        }
    }

    /// One target channel, straight from the slab.
    ///
    /// # Safety
    /// As [`Part::run`]; the slab is open.
    #[inline(always)]
    unsafe fn direct<S: Simd>(&self, slab: *const E::Compute, channel: usize, room: *mut E::Compute) {
        let [by_group, by_row, _] = self.correlation.spec.channels.weight;
        // SAFETY: the weight has the channel's taps at `weights`, for all of which the room has space; `[a, b]` are lines of targets.
        unsafe {
            let weight = self.tensors.weight.get().add(self.group * by_group + channel * by_row);
            for (to, &from) in self.plan.weights.iter().enumerate() {
                *room.add(to) = Operand::widen(*weight.add(from));
            }
            let weights = std::slice::from_raw_parts(room, self.plan.weights.len());
            for a in 0..self.targets[0] {
                let whole = self.targets[1] / LINES * LINES;
                for b in (0..whole).step_by(LINES) {
                    self.direct_lines::<S, LINES>(slab, channel, weights, [a, b]);
                }
                for b in whole..self.targets[1] {
                    self.direct_lines::<S, 1>(slab, channel, weights, [a, b]);
                }
            }
        }
    }

    /// `N` lines of targets, from that at `[a, b]` on, a vector of each at a time.
    ///
    /// # Safety
    /// As [`Part::direct`].
    #[inline(always)]
    unsafe fn direct_lines<S: Simd, const N: usize>(
        &self,
        slab: *const E::Compute,
        channel: usize,
        weights: &[E::Compute],
        [a, b]: [usize; 2],
    ) {
        let (lanes, len, steps) = (VectorOf::<E, S>::LANES, self.targets[2], self.plan.blocks.steps());
        let mut to = [std::ptr::null_mut(); N];
        for (line, to) in to.iter_mut().enumerate() {
            *to = self.target(channel).wrapping_add(self.place([a, b + line, 0]));
        }
        // SAFETY: `N` lines begin at `[a, b]`, and `c` never exceeds `len`; with step 1 `whole` targets are whole vectors.
        unsafe {
            let lines = Lines::<E, N> {
                from: slab.add(a * steps[0] + b * steps[1]),
                steps: [steps[1], steps[2]],
                to,
                gap: self.plan.phase[MAX_SPATIAL - 1].gap,
                bias: self.bias(channel),
            };
            let whole = if steps[2] == 1 { len / lanes * lanes } else { 0 };
            for c in (0..whole).step_by(lanes) {
                lines.sum::<S, { lie::WHOLE }>(&self.plan.reads, weights, c, lanes);
            }
            for c in (whole..len).step_by(lanes) {
                match steps[2] {
                    1 => lines.sum::<S, { lie::PART }>(&self.plan.reads, weights, c, len - c),
                    _ => lines.sum::<S, { lie::APART }>(&self.plan.reads, weights, c, lanes.min(len - c)),
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
