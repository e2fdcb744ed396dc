//! Moving elements between tensors and tiles: contiguous blocks small enough for the L1 cache.

use std::mem::MaybeUninit;

use super::step::Convert;
use crate::copy::tile::Tile as Transposer;

/// Bytes of a tile.
pub(super) const TILE_BYTES: usize = 16 << 10;
/// The most elements of a tile: all operands' tiles of f32 fit the L1 cache.
pub(super) const TILE_ELEMENTS: usize = 2048;
/// The same where an input is transposed: longer runs along its columns are worth more.
pub(super) const TRANSPOSED_ELEMENTS: usize = 4096;

/// Keeps tiles from lying a multiple of 4 KiB apart: the processor would take a load from one for a store to another.
const PADDING: usize = 320;

/// Space for a tile.
#[repr(C, align(64))]
pub(super) struct Tile([MaybeUninit<u8>; TILE_BYTES + PADDING]);

impl Tile {
    pub const UNINIT: Tile = Tile([MaybeUninit::uninit(); TILE_BYTES + PADDING]);

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// How a tensor's elements reach the loop.
pub(super) enum Access {
    /// Rows are contiguous, of the type that is computed in.
    Direct,
    /// Through a tile.
    Tiled,
    /// Through a tile, contiguous along the block's columns instead of its rows.
    Transposed(Transposer),
}

/// A tensor as a kernel sees it.
pub(super) struct Operand {
    /// Bytes of a stored element.
    pub size: usize,
    /// Bytes of an element as it is computed in.
    pub wide: usize,
    pub convert: Option<Convert>,
    pub access: Access,
    /// Bytes from a row to the next.
    pub row: isize,
    /// Bytes from an element of a row to the next; 0 repeats one.
    pub col: isize,
}

impl Operand {
    /// Brings a block of an input into the tile; returns the bytes from row to row there, and whether a row is one element, to be repeated.
    ///
    /// # Safety
    /// `src` is readable for `rows` x `cols` elements at the operand's steps; that many fit the tiles.
    pub unsafe fn fetch(
        &self,
        src: *const u8,
        rows: usize,
        cols: usize,
        tile: *mut u8,
        scratch: &mut Tile,
    ) -> (isize, bool) {
        let rows = if self.row == 0 { 1 } else { rows };
        let cols = if self.col == 0 { 1 } else { cols };
        // SAFETY: the elements are the operand's; tiles are large enough and distinct.
        unsafe {
            match self.convert {
                None => self.gather(src, rows, cols, tile),
                Some(convert) if self.col == self.size as isize || cols == 1 && rows == 1 => {
                    self.convert_rows(convert, src, rows, cols, tile);
                }
                Some(convert) => {
                    self.gather(src, rows, cols, scratch.as_mut_ptr());
                    convert.run(scratch.as_mut_ptr(), tile, rows * cols);
                }
            }
        }
        (if self.row == 0 { 0 } else { (cols * self.wide) as isize }, self.col == 0)
    }

    /// # Safety
    /// As [`fetch`](Operand::fetch), for contiguous rows.
    unsafe fn convert_rows(&self, convert: Convert, src: *const u8, rows: usize, cols: usize, dst: *mut u8) {
        // SAFETY: the caller's.
        unsafe {
            if rows == 1 || self.row == (cols * self.size) as isize {
                return convert.run(src, dst, rows * cols);
            }
            for i in 0..rows {
                convert.run(src.offset(i as isize * self.row), dst.add(i * cols * self.wide), cols);
            }
        }
    }

    /// Copies a block of stored elements to `dst`, contiguously.
    ///
    /// # Safety
    /// As [`fetch`](Operand::fetch).
    unsafe fn gather(&self, src: *const u8, rows: usize, cols: usize, dst: *mut u8) {
        let row_bytes = cols * self.size;
        // SAFETY: the caller's.
        unsafe {
            if let Access::Transposed(t) = &self.access {
                return transpose(t, src, self.col, dst, row_bytes as isize, rows, cols, self.size);
            }
            for i in 0..rows {
                let src = src.offset(i as isize * self.row);
                copy_row(self.size, src, self.col, dst.add(i * row_bytes), self.size as isize, cols);
            }
        }
    }

    /// Moves a tile's block to an output.
    ///
    /// # Safety
    /// `tile` holds `rows` x `cols` elements as they are computed in, contiguously; `dst` is writable for them at the operand's steps.
    pub unsafe fn store(&self, tile: *const u8, dst: *mut u8, rows: usize, cols: usize, scratch: &mut Tile) {
        let contiguous = self.col == self.size as isize;
        for i in 0..rows {
            // SAFETY: the caller's; a scratch tile holds a row.
            unsafe {
                let (from, to) = (tile.add(i * cols * self.wide), dst.offset(i as isize * self.row));
                match self.convert {
                    Some(convert) if contiguous => convert.run(from, to, cols),
                    Some(convert) => {
                        convert.run(from, scratch.as_mut_ptr(), cols);
                        copy_row(self.size, scratch.as_mut_ptr(), self.size as isize, to, self.col, cols);
                    }
                    None => copy_row(self.size, from, self.size as isize, to, self.col, cols),
                }
            }
        }
    }
}

/// Copies `n` elements of `size` bytes between any steps.
///
/// # Safety
/// `src` is readable and `dst` writable for the elements.
unsafe fn copy_row(size: usize, src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize, n: usize) {
    /// # Safety
    /// As the outer function.
    unsafe fn copy<T: Copy>(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize, n: usize) {
        for i in 0..n as isize {
            // SAFETY: the caller's.
            unsafe {
                let value = src.offset(i * src_step).cast::<T>().read_unaligned();
                dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
            }
        }
    }
    // SAFETY: the caller's.
    unsafe {
        match size {
            _ if src_step == size as isize && dst_step == src_step => dst.copy_from_nonoverlapping(src, n * size),
            1 => copy::<u8>(src, src_step, dst, dst_step, n),
            2 => copy::<u16>(src, src_step, dst, dst_step, n),
            4 => copy::<u32>(src, src_step, dst, dst_step, n),
            8 => copy::<u64>(src, src_step, dst, dst_step, n),
            _ => copy::<[u64; 2]>(src, src_step, dst, dst_step, n),
        }
    }
}

/// Writes `rows` x `cols` elements at `dst` that lie column by column at `src`.
///
/// # Safety
/// `src` is readable for `cols` runs of `rows` elements, `src_step` bytes apart; `dst` is writable for `rows` runs of `cols`.
#[expect(clippy::too_many_arguments, reason = "two strided blocks")]
unsafe fn transpose(
    t: &Transposer,
    src: *const u8,
    src_step: isize,
    dst: *mut u8,
    dst_step: isize,
    rows: usize,
    cols: usize,
    size: usize,
) {
    for i in (0..rows).step_by(t.side) {
        for j in (0..cols).step_by(t.side) {
            let (height, width) = (t.side.min(rows - i), t.side.min(cols - j));
            // SAFETY: the square lies within the block.
            unsafe {
                let src = src.add(i * size).offset(j as isize * src_step);
                let dst = dst.add(j * size).offset(i as isize * dst_step);
                if height == t.side && width == t.side {
                    (t.full)(src, src_step, dst, dst_step);
                } else {
                    (t.part)(src, src_step, dst, dst_step, height, width);
                }
            }
        }
    }
}
