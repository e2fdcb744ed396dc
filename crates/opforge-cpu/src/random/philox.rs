//! Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).

use crate::simd::{Routine, Simd};

/// Blocks made at a time.
pub const LANES: usize = 16;

/// The four words of several blocks: word `w` of block `i` is `[w][i]`.
pub type Words = Lanes<LANES>;
/// The four words of `N` blocks.
pub type Lanes<const N: usize> = [[u32; N]; 4];

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The generator's blocks for some counters.
#[allow(clippy::needless_range_loop)] // All lanes of all words at once.
#[inline(always)]
pub fn philox<const N: usize>(mut c: Lanes<N>, [mut k0, mut k1]: [u32; 2]) -> Lanes<N> {
    for _ in 0..10 {
        for i in 0..N {
            let product0 = u64::from(MULTIPLIERS[0]) * u64::from(c[0][i]);
            let product1 = u64::from(MULTIPLIERS[1]) * u64::from(c[2][i]);
            c[0][i] = (product1 >> 32) as u32 ^ c[1][i] ^ k0;
            c[1][i] = product1 as u32;
            c[2][i] = (product0 >> 32) as u32 ^ c[3][i] ^ k1;
            c[3][i] = product0 as u32;
        }
        k0 = k0.wrapping_add(KEY_STEPS[0]);
        k1 = k1.wrapping_add(KEY_STEPS[1]);
    }
    c
}

/// [`blocks`] as code of its own, for draws of many types.
pub(super) struct Blocks;

impl Routine for Blocks {
    /// Seed, offset, the first block, and where the words go.
    type Args = (u64, u64, u64, *mut Words);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (seed, offset, first, words): Self::Args) {
        // SAFETY: `words` is writable for a block of words.
        unsafe { words.write(blocks(seed, offset, first)) };
    }
}

/// The blocks `first ..` of a stream: the seed is the key, the offset the upper half of the counter. Every (seed, offset) is a stream of its
/// own, of 2^64 blocks.
#[inline(always)]
pub fn blocks(seed: u64, offset: u64, first: u64) -> Words {
    lanes(seed, offset, first)
}

/// One block of [`blocks`].
pub(super) fn block(seed: u64, offset: u64, block: u64) -> Lanes<1> {
    lanes(seed, offset, block)
}

#[allow(clippy::needless_range_loop)] // As above.
#[inline(always)]
fn lanes<const N: usize>(seed: u64, offset: u64, first: u64) -> Lanes<N> {
    let mut counters = [[0; N]; 4];
    for i in 0..N {
        let block = first.wrapping_add(i as u64);
        counters[0][i] = block as u32;
        counters[1][i] = (block >> 32) as u32;
        counters[2][i] = offset as u32;
        counters[3][i] = (offset >> 32) as u32;
    }
    philox(counters, [seed as u32, (seed >> 32) as u32])
}
