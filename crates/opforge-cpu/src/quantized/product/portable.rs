//! Products by blocks that are read into memory, for processors without the vectors that the formats have code for.

use std::slice;

use crate::quantized::block::{Block, GROUP, Packing};
use crate::quantized::factor::Row;

/// The products of a row of so many blocks with rows of the other factor. No sum of integers overflows: a block has at most 256 products of 2^14, scaled by
/// at most 2^7.
///
/// # Safety
/// `row` and `x` have so many blocks.
#[inline(always)]
pub(super) unsafe fn dots<F: Packing, const R: usize>(row: *const u8, blocks: usize, x: [Row; R]) -> [f32; R] {
    let mut block = Block::new();
    let mut sums = [0.0; R];
    for b in 0..blocks {
        // SAFETY: the row has so many blocks.
        F::unpack(unsafe { slice::from_raw_parts(row.add(b * F::BYTES), F::BYTES) }, &mut block);
        for (x, sum) in x.iter().zip(&mut sums) {
            // SAFETY: so has that of `x`, with a scale each.
            let (quants, scale) =
                unsafe { (slice::from_raw_parts(x.quants.add(b * F::LEN), F::LEN), *x.scales.add(b)) };
            let (product, less) = products(&block, quants);
            *sum += scale * (block.scale * product as f32);
            if F::OFFSET {
                *sum -= scale * (block.offset * less as f32);
            }
        }
    }
    sums
}

/// The scaled sum of the products of integers, and that of the integers of `x` times the minima.
#[inline(always)]
fn products(block: &Block, x: &[i8]) -> (i32, i32) {
    let (mut product, mut less) = (0, 0);
    for (g, x) in x.as_chunks::<GROUP>().0.iter().enumerate() {
        let quants = &block.quants[g * GROUP..][..GROUP];
        let dot: i32 = quants.iter().zip(x).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        product += block.scales[g] * dot;
        less += block.mins[g] * x.iter().map(|&b| i32::from(b)).sum::<i32>();
    }
    (product, less)
}
