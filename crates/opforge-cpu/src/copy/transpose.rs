//! Copies between layouts whose innermost axes differ, in tiles.

use opforge_runtime::parallel::parallel_for;

use super::plan::{CHUNK, Shared};
use super::tile::Tile;
use super::{Axis, Nest};

/// Tiles a side of the block that is moved while its pages are at hand.
const BLOCK_TILES: usize = 8;

/// A copy whose source is contiguous along `column` and whose destination is contiguous along `row`, within outer loops.
pub(super) struct Transpose {
    outer: Nest<2>,
    column: Axis<2>,
    row: Axis<2>,
    size: usize,
    tile: Tile,
    /// Blocks along the column and along the row.
    blocks: (usize, usize),
    /// Elements a side of a block.
    side: usize,
}

impl Transpose {
    pub fn new(outer: Nest<2>, column: Axis<2>, row: Axis<2>, size: usize) -> Self {
        let tile = Tile::new(size);
        let side = tile.side * BLOCK_TILES;
        let blocks = (column.len.div_ceil(side), row.len.div_ceil(side));
        Transpose { outer, column, row, size, tile, blocks, side }
    }

    /// # Safety
    /// The pointers are valid for all offsets of the loops, and do not overlap.
    pub unsafe fn run(&self, src: *const u8, dst: *mut u8) {
        let per_outer = self.blocks.0 * self.blocks.1;
        let (src, dst) = (Shared(src), Shared(dst));
        let work = |range: std::ops::Range<usize>| {
            self.outer.for_each_part(per_outer, range, |[s, d], block| {
                // SAFETY: both sides are valid at all offsets of the loops; blocks write disjoint elements.
                unsafe { self.block(src.get().offset(s), dst.get().offset(d), block) };
            });
        };
        let block_bytes = self.side.min(self.column.len) * self.side.min(self.row.len) * self.size;
        let count = self.outer.count() * per_outer;
        if count.saturating_mul(block_bytes) < 2 * CHUNK {
            return work(0..count);
        }
        parallel_for(count, (CHUNK / block_bytes).max(1), work);
    }

    /// # Safety
    /// As [`Self::run`], for one step of the outer loops.
    unsafe fn block(&self, src: *const u8, dst: *mut u8, block: usize) {
        let (i0, j0) = (block / self.blocks.1 * self.side, block % self.blocks.1 * self.side);
        let (i1, j1) = (self.column.len.min(i0 + self.side), self.row.len.min(j0 + self.side));
        let t = self.tile.side;
        let mut i = i0;
        while i < i1 {
            let rows = t.min(i1 - i);
            let mut j = j0;
            while j < j1 {
                let columns = t.min(j1 - j);
                // SAFETY: i and j are within the loops' lengths.
                unsafe {
                    let src = src.offset(i as isize * self.column.step[0] + j as isize * self.row.step[0]);
                    let dst = dst.offset(i as isize * self.column.step[1] + j as isize * self.row.step[1]);
                    if rows == t && columns == t {
                        (self.tile.full)(src, self.row.step[0], dst, self.column.step[1]);
                    } else {
                        (self.tile.part)(src, self.row.step[0], dst, self.column.step[1], rows, columns);
                    }
                }
                j += t;
            }
            i += t;
        }
    }
}
