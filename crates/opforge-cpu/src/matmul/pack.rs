//! Matrices in memory, copied into panels that micro-kernels read in order.

use std::mem::MaybeUninit;

use crate::copy::tile::Tile;
use crate::matmul::operand::Operand;
use crate::memory::prefetch::prefetch;

/// A matrix in memory: element `[i, j]` is at `i * row + j * column`, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<T> {
    pub at: *const T,
    pub row: usize,
    pub column: usize,
}

impl<T> Matrix<T> {
    /// The matrix that starts at `[i, j]` of this one.
    #[inline]
    pub fn from(self, i: usize, j: usize) -> Self {
        Matrix { at: self.at.wrapping_add(i * self.row + j * self.column), ..self }
    }
    #[inline]
    pub fn transposed(self) -> Self {
        Matrix { row: self.column, column: self.row, ..self }
    }
}

/// Packs as [`pack`] does.
type Pack<T> = unsafe fn(Matrix<T>, usize, usize, *mut <T as Operand>::Acc, usize);

/// How operands of products are packed, and what is made of the sums.
pub(crate) struct Packing<T: Operand> {
    pub pack: Pack<T>,
    /// Packs strips of rows of the left operand, given as columns, where they are not packed as strips of columns are.
    pub left: Option<Pack<T>>,
    /// Neighbours along the depth that a packed element holds.
    pub unit: usize,
    /// Panels have whole multiples of so many rows, and strips of the left operand too.
    pub whole: usize,
    /// Rounds sums, as [`Operand::narrow_all`] does.
    pub narrow: unsafe fn(*const T::Acc, *mut T, usize),
}

impl<T: Operand> Packing<T> {
    /// Each element by itself.
    pub const SINGLE: Self = Packing { pack, left: None, unit: 1, whole: 1, narrow: T::narrow_all };

    /// Rows of a panel of so much depth.
    #[inline]
    pub fn rows(&self, depth: usize) -> usize {
        depth.div_ceil(self.unit).next_multiple_of(self.whole)
    }

    /// What packs strips of the left operand.
    #[inline]
    pub fn of_left(&self) -> Pack<T> {
        self.left.unwrap_or(self.pack)
    }

    /// Rows of strips of so many of the left operand's.
    #[inline]
    pub fn strips(&self, rows: usize) -> usize {
        if self.left.is_some() { rows.next_multiple_of(self.whole) } else { rows }
    }
}

impl<T: Operand> Clone for Packing<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Operand> Copy for Packing<T> {}

/// Copies `depth` rows of a matrix's first `count` columns to `panel`, `width` elements a row; the rest of each row is set to zero.
///
/// # Safety
/// The matrix is readable for `depth x count`, the panel writable for `depth * width` elements; `count <= width`.
pub(crate) unsafe fn pack<T: Operand>(from: Matrix<T>, depth: usize, count: usize, panel: *mut T::Acc, width: usize) {
    // SAFETY: the matrix and the panel are as the caller says; a panel's row has `width` elements, zeros from `count` on.
    unsafe {
        if !T::EXACT && (from.column == 1 || from.row == 1) {
            widened(from, depth, count, panel, width);
        } else {
            copied(from, depth, count, panel, width);
        }
        if count < width {
            for p in 0..depth {
                std::slice::from_raw_parts_mut(panel.add(p * width + count), width - count).fill(T::Acc::default());
            }
        }
    }
}

/// As [`pack`], but for the zeros: element by element, where these are no copies.
///
/// # Safety
/// As [`pack`].
unsafe fn copied<T: Operand>(from: Matrix<T>, depth: usize, count: usize, panel: *mut T::Acc, width: usize) {
    // SAFETY: each way stays within `depth` x `count` of the matrix and of the panel, whose rows have `width` elements.
    unsafe {
        match (from.column, from.row, width) {
            (1, _, 32) if count == width => rows::<T, 32>(from, depth, panel),
            (1, _, 16) if count == width => rows::<T, 16>(from, depth, panel),
            (1, _, 12) if count == width => rows::<T, 12>(from, depth, panel),
            (1, _, 8) if count == width => rows::<T, 8>(from, depth, panel),
            (1, _, 6) if count == width => rows::<T, 6>(from, depth, panel),
            (1, _, 4) if count == width => rows::<T, 4>(from, depth, panel),
            (_, 1, _) if depth >= TILE && count >= TILE => tiles(from, depth, count, panel, width),
            _ => elements(from, depth, count, panel, width),
        }
    }
}

/// Packs a matrix of `rows x depth` in strips of `height` rows, the last of them of as many as there are: for each strip the columns, in order.
///
/// # Safety
/// The matrix is readable for `rows x depth`, `packed` writable for a panel of the depth and so many rows, in whole strips where there is a packing of the left.
pub(crate) unsafe fn pack_strips<T: Operand>(
    packing: Packing<T>,
    from: Matrix<T>,
    rows: usize,
    depth: usize,
    height: usize,
    packed: *mut T::Acc,
) {
    for i in (0..rows).step_by(height) {
        let height = height.min(rows - i);
        let to = packed.wrapping_add(i * packing.rows(depth));
        // SAFETY: rows `i..i + height` are of the matrix; `packed` has the panel's rows for each of them, those before `i` first.
        unsafe { (packing.of_left())(from.from(i, 0).transposed(), depth, height, to, height) };
    }
}

/// As [`copied`], of contiguous rows or columns, which are widened as such.
///
/// # Safety
/// As [`pack`].
unsafe fn widened<T: Operand>(from: Matrix<T>, depth: usize, count: usize, panel: *mut T::Acc, width: usize) {
    /// Rows and columns that are packed at once, at most.
    const DEEP: usize = 64;
    const WIDE: usize = 32;
    if from.column == 1 {
        for p in 0..depth {
            prefetch(from.from(p + ROWS_AHEAD, 0).at.cast(), count * size_of::<T>());
            // SAFETY: row `p` of the matrix has `count` contiguous elements, the panel's as many.
            unsafe { T::widen_all(from.from(p, 0).at, panel.add(p * width), count) };
        }
        return;
    }
    let mut columns = [[MaybeUninit::<T::Acc>::uninit(); DEEP]; WIDE];
    for p in (0..depth).step_by(DEEP) {
        for first in (0..count).step_by(WIDE) {
            let (deep, wide) = (DEEP.min(depth - p), WIDE.min(count - first));
            // SAFETY: these columns have `deep` contiguous elements from row `p` on, and so many rows of the panel a place for each.
            unsafe {
                for (j, column) in columns[..wide].iter_mut().enumerate() {
                    T::widen_all(from.from(p, first + j).at, column.as_mut_ptr().cast(), deep);
                }
                let columns = Matrix { at: columns.as_ptr().cast::<T::Acc>(), row: 1, column: DEEP };
                copied::<T::Acc>(columns, deep, wide, panel.add(p * width + first), width);
            }
        }
    }
}

/// # Safety
/// As [`pack`], for rows of `W` contiguous elements.
unsafe fn rows<T: Operand, const W: usize>(from: Matrix<T>, depth: usize, panel: *mut T::Acc) {
    for p in 0..depth {
        // SAFETY: row `p` of the matrix has `W` contiguous elements, and the panel `W` for each `p` below the depth.
        unsafe {
            let row = from.at.add(p * from.row).cast::<[T; W]>().read_unaligned();
            panel.add(p * W).cast::<[T::Acc; W]>().write_unaligned(row.map(T::widen));
        }
    }
}

/// Rows and columns of a tile that is transposed at once, at least.
const TILE: usize = 4;
/// Rows that are asked for before they are read: a processor does not see a long step coming.
pub(super) const ROWS_AHEAD: usize = 8;
/// Bytes of a run that are asked for before it is read: runs are short, and the processor does not see where the next one begins.
const AHEAD: usize = 256;

/// Packs a matrix whose columns are contiguous, by tiles: the last ones of rows and columns overlap those before them.
///
/// # Safety
/// As [`pack`], for at least a tile.
unsafe fn tiles<T: Operand>(from: Matrix<T>, depth: usize, count: usize, panel: *mut T::Acc, width: usize) {
    let wide = Tile::new(size_of::<T>());
    if T::EXACT && wide.side > TILE && depth >= wide.side && count >= wide.side {
        // SAFETY: as the caller says, for at least a wide tile.
        return unsafe { wide_tiles(&wide, from, depth, count, panel, width) };
    }
    for j in (0..count).step_by(TILE) {
        let j = j.min(count - TILE);
        for p in (0..depth).step_by(TILE) {
            let p = p.min(depth - TILE);
            // SAFETY: a tile from `p` and `j` on is within depth x count.
            unsafe { tile(from.at.add(p + j * from.column), from.column, panel.add(p * width + j), width) };
        }
    }
}

/// As [`tiles`], of elements that stay as they are, by the widest tiles of the machine.
///
/// # Safety
/// As [`pack`], for at least such a tile.
unsafe fn wide_tiles<T: Operand>(
    tile: &Tile,
    from: Matrix<T>,
    depth: usize,
    count: usize,
    panel: *mut T::Acc,
    width: usize,
) {
    let (side, size) = (tile.side, size_of::<T>());
    let (src_step, dst_step) = ((from.column * size) as isize, (width * size) as isize);
    for j in (0..count).step_by(side) {
        let j = j.min(count - side);
        for p in (0..depth).step_by(side) {
            let p = p.min(depth - side);
            let src = from.at.wrapping_add(p + j * from.column).cast::<u8>();
            (0..side).for_each(|i| prefetch(src.wrapping_offset(i as isize * src_step + AHEAD as isize), 1));
            // SAFETY: a tile from `p` and `j` on is within depth x count; elements are copied as they are.
            unsafe { (tile.full)(src, src_step, panel.add(p * width + j).cast(), dst_step) };
        }
    }
}

/// Transposes 4 x 4 elements.
///
/// # Safety
/// Both sides are valid for 4 rows of 4 elements.
#[inline(always)]
unsafe fn tile<T: Operand>(src: *const T, src_row: usize, dst: *mut T::Acc, dst_row: usize) {
    // SAFETY: `i` and `j` below 4 are elements of both sides, at their distances of rows.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if T::EXACT && size_of::<T>() == 4 {
            let (src_step, dst_step) = (4 * src_row as isize, 4 * dst_row as isize);
            return crate::copy::tile::x86::tile_4x4(src.cast(), src_step, dst.cast(), dst_step);
        }
        let lines: [[T; 4]; 4] = std::array::from_fn(|j| src.add(j * src_row).cast::<[T; 4]>().read_unaligned());
        for p in 0..4 {
            dst.add(p * dst_row).cast::<[T::Acc; 4]>().write_unaligned(lines.map(|line| line[p].widen()));
        }
    }
}

/// # Safety
/// As [`pack`].
unsafe fn elements<T: Operand>(from: Matrix<T>, depth: usize, count: usize, panel: *mut T::Acc, width: usize) {
    for p in 0..depth {
        for j in 0..count {
            // SAFETY: `p` and `j` are among the matrix' rows and columns, and `j` is below `width`, the panel's row.
            unsafe { *panel.add(p * width + j) = from.from(p, j).at.read_unaligned().widen() };
        }
    }
}
