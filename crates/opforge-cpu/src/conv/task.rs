//! One task of a convolution: some target channels at a block of target positions, of some images.

mod direct;
mod in_place;
mod panels;
mod write;

use std::ops::Range;

use opforge_core::Result;
use opforge_runtime::alloc::Workspace;

use super::Element;
use super::correlate::{Correlation, System, Tensors, is_direct};
use super::geometry::Lengths;
use crate::matmul::operand::Operand;
use crate::simd::{Routine, Simd};

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

impl<E: Element> Correlation<E> {
    /// Where each rectangle that a task computes begins in the target, of rows for channels, and its size.
    pub(super) fn rectangles_of(
        &self,
        tensors: Tensors<E>,
        task: usize,
    ) -> impl Iterator<Item = ([usize; 2], [usize; 2])> {
        let part = Part::new(self, tensors, task);
        let (positions, channels) = (self.positions(part.block), self.spec.channels);
        part.images.map(move |image| {
            let row = (image * channels.groups + part.group) * channels.target + part.channels.start;
            ([row, positions.start], [part.channels.len(), positions.len()])
        })
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
}
