//! Packed weights times the slab as it is, without panels.

use super::Part;
use super::write::copy;
use crate::conv::correlate::InPlace;
use crate::conv::phase::counts;
use crate::conv::product::block_depth;
use crate::conv::{Element, MAX_SPATIAL};
use crate::matmul::{Ahead, Args};
use crate::simd::Simd;

impl<E: Element> Part<'_, E> {
    /// Packed weights times the slab as it is, a part of a line of targets at a time: of each line, or of those of a plane, joined by what the slab
    /// has between them.
    ///
    /// # Safety
    /// As [`Part::run`]; the slab is open, and a register block may be read beyond its end. The room is for one.
    #[inline(always)]
    pub(super) unsafe fn products_in_place<S: Simd>(
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
                    let to = |b: usize, c: usize| first.wrapping_add(self.place(system, [a, b, c]));
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
        let (height, most) = (kernels.rows(), block_depth(&self.correlation.packing, offsets.len()));
        for i in (0..rows).step_by(height) {
            let rows = height.min(rows - i);
            // In blocks as deep as panels: whichever a task uses, its sums are the same.
            for (run, offsets) in offsets.chunks(most).enumerate() {
                let (depth, b_offsets) = (offsets.len(), offsets.as_ptr());
                let at = [self.group, self.channels.start + i];
                let at = self.correlation.weights_at(&self.correlation.systems[0], at, run * most);
                let a = self.tensors.packed.get().wrapping_add(at);
                let (add, ahead) = (run > 0 || spec.bias, Ahead::nothing(a));
                // SAFETY: a packed strip has so many weights for each channel, and `c` a row.
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
}
