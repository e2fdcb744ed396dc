//! Sums whose rows are the output's columns.

use opforge_core::Result;

use crate::copy::tile::Tile;
use crate::matmul::operand::Operand;
use crate::matmul::pack::{Matrix, Packing};
use crate::memory::scratch::with_scratch;

/// Rounds rows of sums to columns of an output, whose rows are `row` elements apart.
///
/// # Safety
/// The matrix has so many rows and columns, and the output a place for each.
pub(super) unsafe fn turn<T: Operand>(
    packing: Packing<T>,
    sums: Matrix<T::Acc>,
    [rows, columns]: [usize; 2],
    to: *mut T,
    row: usize,
) -> Result<()> {
    let (tile, size) = (Tile::new(size_of::<T::Acc>()), size_of::<T::Acc>());
    with_scratch(tile.side * rows * size, |scratch| {
        let turned = scratch.cast::<T::Acc>();
        for j in (0..columns).step_by(tile.side) {
            let wide = tile.side.min(columns - j);
            // SAFETY: the scratch has `rows` elements for each of `wide` columns, which a tile takes so many of at once; the output has their places.
            unsafe {
                for i in (0..rows).step_by(tile.side) {
                    let high = tile.side.min(rows - i);
                    let (from, to) = (sums.from(i, j).at.cast(), turned.add(i).cast());
                    let (from_step, to_step) = ((sums.row * size) as isize, (rows * size) as isize);
                    if high == tile.side && wide == tile.side {
                        (tile.full)(from, from_step, to, to_step);
                    } else {
                        (tile.part)(from, from_step, to, to_step, wide, high);
                    }
                }
                (0..wide).for_each(|k| (packing.narrow)(turned.add(k * rows), to.add((j + k) * row), rows));
            }
        }
    })
}
