//! Packed weights times panels, gathered from the slabs a piece at a time.

use std::ops::Range;
use std::slice;

use opforge_runtime::checkpoint;

use super::Part;
use super::write::{alternate, write_line};
use crate::conv::correlate::{Correlation, System};
use crate::conv::geometry::Lengths;
use crate::conv::panel::{Runs, panels_len, position};
use crate::conv::piece::{Piece, Targets};
use crate::conv::product::{PRODUCTS, Product, Total, block_depth};
use crate::conv::slab::Read;
use crate::conv::{Element, MAX_SPATIAL};
use crate::matmul::operand::{Accumulator, add_to_totals, round_totals};
use crate::simd::Simd;

/// Where sums go, in rows for the channels, `row` apart; and their totals, if there are any.
struct Sums<C: Accumulator> {
    at: *mut C,
    row: usize,
    totals: *mut Total<C>,
}

impl<E: Element> Part<'_, E> {
    /// A piece by packed weights times panels: each system's sums after the other's, then whole lines.
    ///
    /// # Safety
    /// As [`Part::run`]; the slabs are open.
    #[inline(always)]
    pub(super) unsafe fn products<S: Simd>(
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
            let all = room.add(panels_len(&correlation.kernels, correlation.deepest(targets.systems), most));
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
                    let made = Sums { at: to, row: plane, totals };
                    return self.sums::<S>(system, targets.of(system), numbers, slab, room, made);
                }
                let made = Sums { at: sums, row: columns, totals };
                self.sums::<S>(system, targets.of(system), numbers, slab, room, made);
                sums = sums.add(rows * columns);
            }
            self.finish::<S>(targets, piece, all);
        }
    }

    /// The sums of a system's targets, given by their numbers.
    ///
    /// # Safety
    /// As [`Part::products`]; the sums are writable, and the totals for as many, if there are any.
    #[inline(always)]
    unsafe fn sums<S: Simd>(
        &self,
        system: &System,
        targets: Lengths,
        numbers: Range<usize>,
        slab: *const E::Compute,
        room: *mut E::Compute,
        Sums { at: c, row: c_row, totals }: Sums<E::Compute>,
    ) {
        let (correlation, deep, rows) = (self.correlation, system.reads.len(), self.channels.len());
        let (depth, columns, in_totals) =
            (block_depth(&correlation.packing, deep), numbers.len(), correlation.in_totals);
        let sums = rows * columns;
        // SAFETY: as the caller promises; the packed weights of each block are where the correlation says.
        unsafe {
            self.start(system, c, c_row, columns);
            for (number, from) in (0..deep).step_by(depth).enumerate() {
                checkpoint();
                let depth = depth.min(deep - from);
                self.pack::<S>(slab, targets, numbers.clone(), &system.reads[from..from + depth], room);
                let begins = in_totals && number % PRODUCTS == 0;
                let add = from > 0 && !begins || from == 0 && correlation.spec.bias;
                let at = correlation.weights_at(system, [self.group, self.channels.start], from);
                let (a, b) = (self.tensors.packed.get().add(at), room.cast_const());
                let packed = correlation.packing.rows(depth);
                Product { a, b, c, c_row, rows, columns, depth: packed, add }.run(&correlation.kernels);
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
        let Correlation { kernels, packing, .. } = self.correlation;
        let (width, steps) = (kernels.width(), self.steps());
        for (panel, j) in numbers.clone().step_by(width).enumerate() {
            let runs = Runs::of_targets(j, width.min(numbers.end - j), targets, steps);
            let panel = room.wrapping_add(panel * width * packing.rows(reads.len()));
            let rows = reads.iter().map(|read| slab.wrapping_add(read.at));
            // SAFETY: the slabs are valid at every read for these targets; what a row overwrites of the next is packed after it.
            unsafe { runs.pack::<S, E>(packing, rows, panel, width) };
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
}
