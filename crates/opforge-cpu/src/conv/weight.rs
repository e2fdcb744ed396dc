//! Gradients of weights: the products of a batch's output gradients with the windows of its inputs, summed over the batch.
//!
//! The batch is divided into chunks by its shape alone; each chunk has sums of its own, which are added in order at the end.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::parallel::{num_threads, parallel_for};

use super::Element;
use super::correlate::MIN_SHARED_WORK;
use super::geometry::{Lengths, Sizes};
use super::panel::{Runs, SLACK, panels_len, position};
use super::phase::Phase;
use super::product::{DEPTH, Product, Total};
use super::slab::{Blocks, Read};
use super::sums::{PRODUCTS, Sums};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::matmul::operand::Accumulator;
use crate::matmul::{Kernels, Matrix, Packing};
use crate::simd::{Entry, Isa, Routine, Simd, resolve};

/// Chunks of the batch at most.
const CHUNKS: usize = 8;
/// Elements of all chunks' sums at most, where there is more than one.
const MAX_SUMS: usize = 1 << 20;
/// Bytes of a task's sums at most, about.
const SUMS: usize = 384 << 10;
/// What a task does besides, in columns' time.
const TASK: usize = 32;

pub(super) struct WeightGradient<E: Element> {
    pub(super) sizes: Sizes,
    pub(super) blocks: Blocks,
    pub(super) reads: Vec<Read>,
    /// Images of a chunk, and chunks.
    images: usize,
    chunks: usize,
    /// Columns of a task, and tasks that share a group's columns.
    columns: usize,
    parts: usize,
    kernels: Kernels<E::Compute>,
    packing: Packing<E>,
    entry: Entry<Self>,
}

/// The addresses of one run.
pub(super) struct Tensors<E: Element> {
    x: Shared<*const E>,
    y: Shared<*const E>,
    /// For each chunk, `[groups, outputs, reads]`.
    sums: Shared<*mut E::Compute>,
}

impl<E: Element> Clone for Tensors<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Element> Copy for Tensors<E> {}

/// Columns of a task, a multiple of `width`, where `tasks` share none of these rows and columns: those by which the busiest thread is done first, as
/// long as a task's sums stay in its processor's cache.
fn columns_of_task<F>([rows, columns]: [usize; 2], tasks: usize, width: usize) -> usize {
    let of = |parts: usize| columns.div_ceil(parts).next_multiple_of(width).max(width);
    let time = |parts: &usize| {
        let each = of(*parts);
        (tasks * columns.div_ceil(each)).div_ceil(num_threads()) * (each + TASK)
    };
    let least = (rows * columns * size_of::<F>()).div_ceil(SUMS).max(1);
    of((least..=least.max(CHUNKS.div_ceil(tasks.max(1)))).min_by_key(time).unwrap_or(1))
}

impl<E: Element> WeightGradient<E> {
    pub fn prepare(op: &'static str, sizes: Sizes, phase: Phase) -> Result<Arc<dyn HostKernel>> {
        let (kernels, packing) = E::for_products();
        let blocks =
            Blocks::new(op, std::slice::from_ref(&phase), [sizes.inputs, 1], sizes.x, E::EXACT, sizes.inputs > 1)?;
        let reads = blocks.reads(&phase, sizes.k)?;
        let elements = (sizes.groups * sizes.outputs * reads.len()).max(1);
        let chunks = (MAX_SUMS / elements).clamp(1, CHUNKS).min(sizes.batch.max(1));
        let images = sizes.batch.div_ceil(chunks).max(1);
        // Of no images, one makes zeros.
        let chunks = sizes.batch.div_ceil(images).max(1);
        let columns =
            columns_of_task::<E::Compute>([sizes.outputs, reads.len()], chunks * sizes.groups, kernels.width());
        let parts = reads.len().div_ceil(columns);
        let entry = resolve::<Self>(Isa::current());
        Ok(Arc::new(WeightGradient { sizes, blocks, reads, images, chunks, columns, parts, kernels, packing, entry }))
    }

    /// Totals of a task: none if there are few products to each sum.
    fn totals(&self) -> usize {
        let positions: usize = self.sizes.y.iter().product();
        let products = self.images.saturating_mul(positions.div_ceil(DEPTH).max(self.blocks.count));
        if products > PRODUCTS { self.sizes.outputs * self.columns } else { 0 }
    }

    fn elements(&self) -> usize {
        self.sizes.groups * self.sizes.outputs * self.reads.len()
    }

    /// Adds up the chunks' sums and writes them in the weight's order.
    ///
    /// # Safety
    /// `sums` holds those of all chunks; `weight` is the output, which nobody else uses.
    unsafe fn finish(&self, sums: Shared<*mut E::Compute>, weight: Shared<*mut E>) {
        let (rows, deep) = (self.sizes.groups * self.sizes.outputs, self.reads.len());
        let taps = self.sizes.taps();
        let grain = (1usize << 14).div_ceil((deep * self.chunks).max(1));
        parallel_for(rows, grain, |range| {
            for row in range {
                let chunk = |chunk: usize| sums.get().wrapping_add(chunk * self.elements() + row * deep);
                // SAFETY: each chunk has `elements()` sums, `deep` of them for each row, and the output an element for each read of each row;
                // no other range has this row.
                let (sum, to) = unsafe {
                    (
                        slice::from_raw_parts_mut(chunk(0), deep),
                        slice::from_raw_parts_mut(weight.get().add(row * deep), deep),
                    )
                };
                for number in 1..self.chunks {
                    // SAFETY: as above, and apart from the first chunk's.
                    let further = unsafe { slice::from_raw_parts(chunk(number), deep) };
                    sum.iter_mut().zip(further).for_each(|(sum, &x)| *sum = sum.plus(x));
                }
                for (read, &sum) in self.reads.iter().zip(&*sum) {
                    to[read.channel * taps + read.k] = E::narrow(sum);
                }
            }
        });
    }
}

impl<E: Element> HostKernel for WeightGradient<E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sums = Workspace::new(self.chunks * self.elements() * size_of::<E::Compute>())?;
        let tensors = Tensors {
            x: Shared(inputs[0].cast::<E>()),
            y: Shared(inputs[1].cast::<E>()),
            sums: Shared(sums.as_ptr().cast::<E::Compute>()),
        };
        let tasks = self.chunks * self.sizes.groups * self.parts;
        let grain = if self.sizes.work() < MIN_SHARED_WORK { tasks } else { tasks.div_ceil(8 * num_threads()) };
        try_parallel_for(tasks, grain, |range| {
            // SAFETY: the entry is for this CPU; tasks have sums of their own.
            unsafe { (self.entry)(self, (tensors, range)) }
        })?;
        // SAFETY: every task has written its sums, which outlive the call; the output is the weight's gradient, of `rows * deep` elements.
        unsafe { self.finish(tensors.sums, Shared(outputs[0].cast())) };
        Ok(())
    }

    fn cost(&self) -> u64 {
        200 + (self.sizes.work() / 32) as u64
    }
}

impl<E: Element> Routine for WeightGradient<E> {
    type Args = (Tensors<E>, Range<usize>);
    type Output = Result<()>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (tensors, tasks): Self::Args) -> Result<()> {
        let rows = self.packing.rows(DEPTH);
        let a = self.packing.strips(self.sizes.outputs) * rows;
        let b = panels_len(&self.kernels, rows, self.columns);
        let room = Workspace::new((self.blocks.elements + SLACK + b + a) * size_of::<E::Compute>())?;
        let totals = Workspace::new(self.totals() * size_of::<Total<E::Compute>>())?;
        for task in tasks {
            // SAFETY: the task is one of this kernel's, and the memory is as large as it needs.
            unsafe { self.task::<S>(tensors, task, room.as_ptr().cast(), totals.as_ptr().cast()) };
        }
        Ok(())
    }
}

impl<E: Element> WeightGradient<E> {
    /// The sums of some columns over a chunk of the batch.
    ///
    /// # Safety
    /// The tensors are valid; the room holds the slab and packed blocks of both sides, `totals` as many as [`WeightGradient::totals`] says.
    #[inline(always)]
    unsafe fn task<S: Simd>(
        &self,
        tensors: Tensors<E>,
        task: usize,
        room: *mut E::Compute,
        totals: *mut Total<E::Compute>,
    ) {
        let sizes = &self.sizes;
        let (rest, part) = (task / self.parts, task % self.parts * self.columns);
        let (chunk, group) = (rest / sizes.groups, rest % sizes.groups);
        let columns = part..self.reads.len().min(part + self.columns);
        let row = chunk * self.elements() + group * sizes.outputs * self.reads.len();
        let mut sums = Sums {
            at: tensors.sums.get().wrapping_add(row + part),
            columns,
            begun: false,
            rows: sizes.outputs,
            row: self.reads.len(),
            products: 0,
            totals: if self.totals() > 0 { totals } else { std::ptr::null_mut() },
            in_totals: false,
        };
        let [x_plane, y_plane]: [usize; 2] = [sizes.x, sizes.y].map(|lengths| lengths.iter().product());
        for image in chunk * self.images..sizes.batch.min((chunk + 1) * self.images) {
            let channels = image * sizes.groups + group;
            let y = tensors.y.get().wrapping_add(channels * sizes.outputs * y_plane);
            for block in 0..if y_plane == 0 { 0 } else { self.blocks.count } {
                // SAFETY: `x` and `y` hold this group of channels; the room holds the slab, then the packed blocks of both sides.
                unsafe {
                    let x = tensors.x.get().add(channels * sizes.inputs * x_plane);
                    let slab = self.blocks.open::<S, E>(x, block, room);
                    match sizes.inputs {
                        1 => self.dots::<S>(slab, y, block, &mut sums),
                        _ => self.block::<S>(slab, y, block, &mut sums, room.add(self.blocks.elements)),
                    }
                }
            }
        }
        // SAFETY: the sums and totals lie in this task's working memory.
        unsafe { sums.finish() };
        if !sums.begun {
            for i in 0..sizes.outputs {
                // SAFETY: the chunk's sums have a row of `reads.len()` for each output; `columns` is this task's part of it.
                unsafe {
                    let row = sums.at.add(i * self.reads.len());
                    std::slice::from_raw_parts_mut(row, sums.columns.len()).fill(E::Compute::default());
                }
            }
        }
    }

    /// The first position of a block.
    pub(super) fn first_target(&self, block: usize) -> usize {
        let inner: usize = self.sizes.y[self.blocks.axis + 1..].iter().product();
        block * self.blocks.len * inner
    }

    /// Adds what a block of positions contributes.
    ///
    /// # Safety
    /// As [`WeightGradient::task`]; the slab is open, `y` points to the first channel of the group.
    #[inline(always)]
    unsafe fn block<S: Simd>(
        &self,
        slab: *const E::Compute,
        y: *const E,
        block: usize,
        sums: &mut Sums<E::Compute>,
        room: *mut E::Compute,
    ) {
        let targets = self.blocks.targets_of(block, self.sizes.y);
        let all: usize = targets.iter().product();
        let y = y.wrapping_add(self.first_target(block));
        let a_room = room.wrapping_add(panels_len(&self.kernels, self.packing.rows(DEPTH), self.columns));
        for start in (0..all).step_by(DEPTH) {
            let depth = DEPTH.min(all - start);
            // SAFETY: `y` has `depth` positions from `start` on in each channel; the room holds panels, then strips from `a_room` on.
            unsafe {
                self.pack_y(y.wrapping_add(start), depth, a_room);
                self.pack_windows::<S>(slab, targets, start..start + depth, sums.columns.clone(), room);
                Product {
                    a: a_room.cast_const(),
                    b: room.cast_const(),
                    c: sums.at,
                    c_row: self.reads.len(),
                    rows: self.sizes.outputs,
                    columns: sums.columns.len(),
                    depth: self.packing.rows(depth),
                    add: std::mem::replace(&mut sums.begun, true),
                }
                .run(&self.kernels);
                sums.count_product();
            }
        }
    }

    /// Packs the output gradients of some positions, strip by strip.
    ///
    /// # Safety
    /// `y` is valid for `depth` positions of each output channel, the room for as many elements.
    #[inline(always)]
    unsafe fn pack_y(&self, y: *const E, depth: usize, room: *mut E::Compute) {
        let (height, plane): (usize, usize) = (self.kernels.rows(), self.sizes.y.iter().product());
        let (pack, packed) = (self.packing.of_left(), self.packing.rows(depth));
        for i in (0..self.sizes.outputs).step_by(height) {
            let rows = height.min(self.sizes.outputs - i);
            // SAFETY: rows `i..i + rows` are output channels, `plane` apart in `y`; those before them took `i` packed ones of the room.
            unsafe {
                let from = Matrix { at: y.add(i * plane), row: 1, column: plane };
                pack(from, depth, rows, room.add(i * packed), rows);
            }
        }
    }

    /// Packs the windows of some positions, those elements that are the columns.
    ///
    /// # Safety
    /// The slab is open; the room holds the columns' panels and [`SLACK`] elements.
    #[inline(always)]
    unsafe fn pack_windows<S: Simd>(
        &self,
        slab: *const E::Compute,
        targets: Lengths,
        positions: Range<usize>,
        columns: Range<usize>,
        room: *mut E::Compute,
    ) {
        let (width, steps) = (self.kernels.width(), self.blocks.steps());
        for (panel, j) in columns.clone().step_by(width).enumerate() {
            let runs = Runs::of_reads(&self.reads[j..columns.end.min(j + width)]);
            let panel = room.wrapping_add(panel * width * self.packing.rows(positions.len()));
            let mut at = position(positions.start, targets);
            let rows = positions.clone().map(|number| {
                let from = at[0] * steps[0] + at[1] * steps[1] + at[2] * steps[2];
                at[2] += 1;
                if at[2] == targets[2] {
                    at = position(number + 1, targets);
                }
                slab.wrapping_add(from)
            });
            // SAFETY: the slab has what each read reads for these targets; what a row overwrites of the next is packed after it.
            unsafe { runs.pack::<S, E>(&self.packing, rows, panel, width) };
        }
    }
}
