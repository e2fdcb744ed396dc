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

/// Rows of up to so many elements are joined in tiles: to begin a loop over one takes longer than to bring it there.
pub(super) const JOINED: usize = 4;
/// The same where some tensor goes through a tile in any case.
pub(super) const JOINED_IN_TILES: usize = 31;

/// Rows of fewer elements are copied without a call for each.
const SHORT: usize = 32;

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
    /// Whether the loop reads or writes it where it lies.
    pub fn is_direct(&self) -> bool {
        matches!(self.access, Access::Direct)
    }

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

    /// Goes through a tile, unless rows of `cols` elements lie one after the other in memory.
    pub fn join(&mut self, cols: usize) {
        let dense = self.col == self.size as isize && self.row == (cols * self.size) as isize;
        let one = self.col == 0 && self.row == 0;
        if self.is_direct() && !dense && !one {
            self.access = Access::Tiled;
        }
    }

    /// Repeats in a tile what [`fetch`](Operand::fetch) has brought of a repeated row, or of repeated elements, so that the tile holds all rows. One
    /// element that is all of the block stays one.
    ///
    /// # Safety
    /// The tile holds what was fetched for `rows` rows and `cols` columns.
    pub unsafe fn spread(&self, rows: usize, cols: usize, tile: *mut u8) {
        // SAFETY: the tile begins with what was fetched, and the whole block fits it.
        unsafe {
            match (self.row, self.col) {
                (0, 0) => {}
                (0, _) => repeat(tile, cols * self.wide, rows),
                (_, 0) => by_size!(self.wide, Bits => stretch::<Bits>(tile, rows, cols)),
                _ => {}
            }
        }
    }

    /// # Safety
    /// As [`fetch`](Operand::fetch), for contiguous rows.
    unsafe fn convert_rows(&self, convert: Convert, src: *const u8, rows: usize, cols: usize, dst: *mut u8) {
        // SAFETY: `src` has `rows` contiguous rows of `cols`; `dst` holds as many converted elements.
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
        // SAFETY: `src` is readable for the block at the operand's steps, and `dst` holds it contiguously.
        unsafe {
            if let Access::Transposed(t) = &self.access {
                return transpose(t, src, self.col, dst, row_bytes as isize, rows, cols, self.size);
            }
            if cols < SHORT {
                if self.col == self.size as isize {
                    match row_bytes {
                        0..4 => {}
                        4..8 => return copy_rows::<4>(src, self.row, dst, rows, row_bytes),
                        8..16 => return copy_rows::<8>(src, self.row, dst, rows, row_bytes),
                        _ => return copy_rows::<16>(src, self.row, dst, rows, row_bytes),
                    }
                }
                return by_size!(self.size, Bits => copy_block::<Bits>(src, self.row, self.col, dst, rows, cols));
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
        let dense = contiguous && self.row == (cols * self.size) as isize;
        let (rows, cols) = if dense { (1, rows * cols) } else { (rows, cols) };
        for i in 0..rows {
            // SAFETY: row `i` of the tile and of `dst` have `cols` elements; a scratch tile holds a row.
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

/// Writes `times` copies of `nbytes` bytes one after the other, of which the first is there.
///
/// # Safety
/// `tile` is writable for them all.
unsafe fn repeat(tile: *mut u8, nbytes: usize, times: usize) {
    let all = nbytes * times;
    let mut done = nbytes;
    while done < all {
        let more = done.min(all - done);
        // SAFETY: what is done is written, and what comes next within the tile.
        unsafe { tile.add(done).copy_from_nonoverlapping(tile, more) };
        done += more;
    }
}

/// Writes each of `count` elements `times` times, in their place and behind.
///
/// # Safety
/// `tile` holds the elements and is writable for their copies.
unsafe fn stretch<T: Copy>(tile: *mut u8, count: usize, times: usize) {
    const RUN: usize = 8;
    let tile = tile.cast::<T>();
    for i in (0..count).rev() {
        // SAFETY: from the last on, copies are written where nothing is read any more; the last run ends where the row does.
        unsafe {
            let (value, row) = (tile.add(i).read_unaligned(), tile.add(i * times));
            if times < RUN {
                (0..times).for_each(|j| row.add(j).write_unaligned(value));
                continue;
            }
            for j in (0..times - RUN).step_by(RUN) {
                row.add(j).cast::<[T; RUN]>().write_unaligned([value; RUN]);
            }
            row.add(times - RUN).cast::<[T; RUN]>().write_unaligned([value; RUN]);
        }
    }
}

/// Copies `rows` short rows of `cols` elements, contiguously.
///
/// # Safety
/// `src` is readable for the elements at these steps, `dst` writable for them.
unsafe fn copy_block<T: Copy>(
    src: *const u8,
    row_step: isize,
    col_step: isize,
    dst: *mut u8,
    rows: usize,
    cols: usize,
) {
    let mut dst = dst.cast::<T>();
    for i in 0..rows as isize {
        let row = src.wrapping_offset(i * row_step);
        for j in 0..cols as isize {
            // SAFETY: `(i, j)` is an element of the block at these steps; `dst` has come past `i` rows of `cols`.
            unsafe { dst.add(j as usize).write_unaligned(row.offset(j * col_step).cast::<T>().read_unaligned()) };
        }
        dst = dst.wrapping_add(cols);
    }
}

/// Copies `rows` short rows of so many bytes, at least `N`, contiguously: by pieces of `N`, the last of which reaches into the one before.
///
/// # Safety
/// `src` is readable for the rows at this step, `dst` writable for them.
unsafe fn copy_rows<const N: usize>(src: *const u8, step: isize, dst: *mut u8, rows: usize, bytes: usize) {
    for i in 0..rows {
        let (from, to) = (src.wrapping_offset(i as isize * step), dst.wrapping_add(i * bytes));
        // SAFETY: every piece lies within row `i`, the last one at its end.
        let piece = |at: usize| unsafe { to.add(at).cast::<[u8; N]>().write(from.add(at).cast::<[u8; N]>().read()) };
        (0..bytes - N).step_by(N).for_each(piece);
        piece(bytes - N);
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
        let walk = |src_step: isize, dst_step: isize| {
            for i in 0..n as isize {
                // SAFETY: `i` is below `n`, the elements that both sides have at their steps.
                unsafe {
                    let value = src.offset(i * src_step).cast::<T>().read_unaligned();
                    dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
                }
            }
        };
        let size = size_of::<T>() as isize;
        match [src_step, dst_step] == [2 * size, size] {
            // Constants, by which vectors are read and every other element of them taken.
            true => walk(2 * size, size),
            false => walk(src_step, dst_step),
        }
    }
    // SAFETY: both sides have `n` elements of `size` bytes, `n * size` bytes where they are contiguous.
    unsafe {
        if src_step == size as isize && dst_step == src_step {
            return dst.copy_from_nonoverlapping(src, n * size);
        }
        by_size!(size, Bits => copy::<Bits>(src, src_step, dst, dst_step, n));
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
