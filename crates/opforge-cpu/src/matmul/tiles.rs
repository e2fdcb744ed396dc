//! Products of bf16 by tiles (AMX): sixteen sums of sixteen rows at once, each of 32 terms. Elements are packed in pairs along the depth, as
//! [`pairs`](super::pairs) packs them; sums are f32, and subnormal numbers count as zero.

use std::arch::asm;

use opforge_core::bf16;

use super::micro::{Args, Kernels, MicroKernel, Session};
use super::pack::{Matrix, Packing};
use super::pairs::{narrow, pack_pairs};
use crate::copy::tile::Tile;
use crate::simd::{Isa, amx};

/// Rows of a tile, and packed elements of its rows: pairs, or sums.
const SIDE: usize = 16;
/// Elements of a tile.
const TILE: usize = SIDE * SIDE;
/// Sums along a side of four tiles, which one kernel makes.
const FOUR: usize = 2 * SIDE;

pub(super) const PACKING: Packing<bf16> =
    Packing { pack: pack_right, left: Some(pack_left), unit: 2, whole: SIDE, narrow };

/// The micro-kernels, where this processor has tiles and the process may use them.
pub(super) fn kernels() -> Option<Kernels<f32>> {
    (Isa::current() >= Isa::Amx && amx::is_permitted()).then(|| Kernels::packed(SIDE, TABLE, Some(begin)))
}

/// For one and for two tiles of columns, the kernels of 1 to 32 rows.
static TABLE: &[&[MicroKernel<f32>]] = &[&of_rows::<1>(), &of_rows::<2>()];

const fn of_rows<const ACROSS: usize>() -> [MicroKernel<f32>; FOUR] {
    macro_rules! rows {
        ($($rows:literal)*) => { [$(kernel::<$rows, ACROSS>),*] };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

fn begin() -> Session {
    // SAFETY: kernels are handed out to processes that may use tiles only.
    unsafe { amx::configure() };
    // SAFETY: as for the beginning.
    Session::new(|| unsafe { amx::release() })
}

/// # Safety
/// As [`MicroKernel`], within a session; packed rows are whole tiles.
unsafe fn kernel<const DOWN: usize, const ACROSS: usize>(args: &Args<f32>) {
    // SAFETY: the arguments are passed on.
    unsafe { product(args, DOWN, ACROSS) }
}

/// # Safety
/// As [`kernel`], for `rows` rows and `across` tiles of columns.
unsafe fn product(args: &Args<f32>, rows: usize, across: usize) {
    if rows == FOUR && args.columns == FOUR {
        // SAFETY: two strips of rows follow one another in `a`, two tiles of columns lie side by side in `b`, and `c` has 32 rows of 32 sums.
        return unsafe { four(args) };
    }
    for i in (0..rows).step_by(SIDE) {
        for j in (0..SIDE * across).step_by(SIDE) {
            let (rows, columns) = (SIDE.min(rows - i), SIDE.min(args.columns - j));
            let mut sums = [0.0; TILE];
            // SAFETY: strips of `a` and tiles of `b` begin at multiples of the side; `c` has these rows and columns from `i` and `j` on.
            unsafe {
                single(args, args.a.add(i * args.depth), args.b.add(j), &mut sums);
                for (r, sums) in sums.chunks_exact(SIDE).take(rows).enumerate() {
                    let c = std::slice::from_raw_parts_mut(args.c.add((i + r) * args.c_row + j), columns);
                    for (c, sum) in c.iter_mut().zip(sums) {
                        *c = if args.add { *c + sum } else { *sum };
                    }
                }
            }
        }
    }
}

/// Sums of 32 rows and columns.
///
/// # Safety
/// As [`product`] of whole tiles.
unsafe fn four(args: &Args<f32>) {
    let (c, strip) = (args.c, args.depth * SIDE);
    // SAFETY: at each of the depth's tiles, `a` has one of each strip, 1024 bytes further, and `b` two side by side, 16 rows further; `c` has the sums.
    unsafe {
        asm!(
            "test {add}, {add}",
            "jz 3f",
            "tileloadd tmm0, [{c} + {c_row}]",
            "tileloadd tmm1, [{c} + {c_row} + 64]",
            "tileloadd tmm2, [{below} + {c_row}]",
            "tileloadd tmm3, [{below} + {c_row} + 64]",
            "jmp 2f",
            "3:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{a} + {a_row}]",
            "tileloadd tmm6, [{b} + {b_row}]",
            "tileloadd tmm7, [{b} + {b_row} + 64]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{next} + {a_row}]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, 1024",
            "add {next}, 1024",
            "add {b}, {b_step}",
            "dec {tiles}",
            "jnz 2b",
            "tilestored [{c} + {c_row}], tmm0",
            "tilestored [{c} + {c_row} + 64], tmm1",
            "tilestored [{below} + {c_row}], tmm2",
            "tilestored [{below} + {c_row} + 64], tmm3",
            a = inout(reg) args.a => _,
            next = inout(reg) args.a.add(strip) => _,
            b = inout(reg) args.b => _,
            tiles = inout(reg) args.depth / SIDE => _,
            c = in(reg) c,
            below = in(reg) c.add(SIDE * args.c_row),
            add = in(reg) usize::from(args.add),
            a_row = in(reg) 4 * SIDE,
            b_row = in(reg) 4 * args.b_row,
            b_step = in(reg) 4 * SIDE * args.b_row,
            c_row = in(reg) 4 * args.c_row,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// Sums of 16 rows and columns, of a strip of `a` and the columns of `b` from there on.
///
/// # Safety
/// As [`product`] of one tile.
unsafe fn single(args: &Args<f32>, a: *const f32, b: *const f32, sums: &mut [f32; TILE]) {
    // SAFETY: at each of the depth's tiles, `a` has one, 1024 bytes further, and `b` one, 16 rows further.
    unsafe {
        asm!(
            "tilezero tmm0",
            "2:",
            "tileloadd tmm4, [{a} + {a_row}]",
            "tileloadd tmm6, [{b} + {b_row}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "add {a}, 1024",
            "add {b}, {b_step}",
            "dec {tiles}",
            "jnz 2b",
            "tilestored [{c} + {a_row}], tmm0",
            a = inout(reg) a => _,
            b = inout(reg) b => _,
            tiles = inout(reg) args.depth / SIDE => _,
            c = in(reg) sums.as_mut_ptr(),
            a_row = in(reg) 4 * SIDE,
            b_row = in(reg) 4 * args.b_row,
            b_step = in(reg) 4 * SIDE * args.b_row,
            out("tmm0") _, out("tmm4") _, out("tmm6") _,
            options(nostack),
        );
    }
}

/// Packs strips of `b`: pairs, and rows of zeros after them up to a whole tile.
///
/// # Safety
/// As [`pack_pairs`], the panel with room for whole tiles.
pub(super) unsafe fn pack_right(from: Matrix<bf16>, depth: usize, count: usize, panel: *mut f32, width: usize) {
    let rows = depth.div_ceil(2);
    // SAFETY: the panel has the pairs' rows, and those up to the next whole tile.
    unsafe {
        pack_pairs(from, depth, count, panel, width);
        std::slice::from_raw_parts_mut(panel.add(rows * width), rows.next_multiple_of(SIDE) * width - rows * width)
            .fill(0.0);
    }
}

/// Packs rows of `a`, given as columns, in strips of 16: tiles along the depth, whose rows are those of the matrix. What is beyond it is zero.
///
/// # Safety
/// As [`pack_pairs`], the panel with room for whole tiles.
pub(super) unsafe fn pack_left(from: Matrix<bf16>, depth: usize, count: usize, panel: *mut f32, _: usize) {
    let tiles = depth.div_ceil(2 * SIDE);
    for i in (0..count).step_by(SIDE) {
        for t in 0..tiles {
            let (p, rows) = (2 * SIDE * t, SIDE.min(count - i));
            let (part, deep) = (from.from(p, i), (2 * SIDE).min(depth - p));
            // SAFETY: the part has so many rows of so much depth; strips have `tiles` tiles each.
            unsafe {
                let tile = panel.add((i * tiles + t * SIDE) * SIDE);
                if part.row == 1 { copy_rows(part, deep, rows, tile) } else { turn_columns(part, deep, rows, tile) }
            }
        }
    }
}

/// # Safety
/// The matrix has `count` columns of `depth` contiguous elements, at most a tile, which can be written.
unsafe fn copy_rows(from: Matrix<bf16>, depth: usize, count: usize, tile: *mut f32) {
    // SAFETY: a row of the tile has 32 elements; so many are read of each column, or `depth`.
    unsafe {
        if depth < 2 * SIDE || count < SIDE {
            std::slice::from_raw_parts_mut(tile, TILE).fill(0.0);
        }
        for i in 0..count {
            let (at, row) = (from.from(0, i).at, tile.add(i * SIDE).cast::<bf16>());
            if depth == 2 * SIDE {
                row.cast::<[u128; 4]>().write_unaligned(at.cast::<[u128; 4]>().read_unaligned());
            } else {
                std::ptr::copy_nonoverlapping(at, row, depth);
            }
        }
    }
}

/// # Safety
/// The matrix has `count` columns of `depth` elements, at most a tile, which can be written.
unsafe fn turn_columns(from: Matrix<bf16>, depth: usize, count: usize, tile: *mut f32) {
    let mut pairs = [0.0f32; TILE];
    // SAFETY: a tile has room for the pairs of 32 elements of 16 columns, and both sides of the exchange are tiles.
    unsafe {
        pack_pairs(from, depth, count, pairs.as_mut_ptr(), SIDE);
        let turn = Tile::new(size_of::<f32>());
        for i in (0..SIDE).step_by(turn.side) {
            for j in (0..SIDE).step_by(turn.side) {
                let (src, dst) = (pairs.as_ptr().add(i * SIDE + j), tile.add(j * SIDE + i));
                (turn.full)(src.cast(), (4 * SIDE) as isize, dst.cast(), (4 * SIDE) as isize);
            }
        }
    }
}
