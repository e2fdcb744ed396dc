//! Products of bf16 by AVX-512's dot products of pairs: twice the multiplications of f32's instructions. A packed element, as large as an f32, holds two
//! neighbours along the depth. Sums are f32; subnormal numbers count as zero there, as in other libraries that use these instructions.

use opforge_core::bf16;

use super::micro::Kernels;
use super::pack::{Matrix, Packing, ROWS_AHEAD, pack};
use crate::memory::prefetch::prefetch;
use crate::simd::Isa;

pub(super) const PACKING: Packing<bf16> = Packing { pack: pack_pairs, left: None, unit: 2, whole: 1, narrow };

/// The micro-kernels for packed pairs, where the processor has the instructions.
pub(super) fn kernels() -> Option<Kernels<f32>> {
    #[cfg(target_arch = "x86_64")]
    if Isa::current() >= Isa::Avx512 && std::arch::is_x86_feature_detected!("avx512bf16") {
        return Some(super::micro::bf16_pairs());
    }
    None
}

/// As [`pack`] of `depth` rows in pairs: row `2p` and row `2p + 1` are a row of the panel. After an odd depth comes a row of zeros.
///
/// # Safety
/// The matrix is readable for `depth x count`, the panel writable for half of the depth, rounded up, times `width` elements; `count <= width`. The processor has AVX-512.
pub(super) unsafe fn pack_pairs(from: Matrix<bf16>, depth: usize, count: usize, panel: *mut f32, width: usize) {
    let panel = panel.cast::<u32>();
    let (whole, odd) = (depth / 2, depth % 2);
    // SAFETY: pairs below `whole` are rows of the matrix and of the panel, and so is the row after them of an odd depth.
    unsafe {
        if from.row == 1 && from.column.is_multiple_of(2) {
            let pairs = Matrix { at: from.at.cast::<u32>(), row: 1, column: from.column / 2 };
            pack(pairs, whole, count, panel, width);
        } else {
            interleave(from, whole, count, panel, width);
        }
        if odd == 1 {
            for j in 0..width {
                let last = if j < count { from.from(depth - 1, j).at.read().to_bits() } else { 0 };
                panel.add(whole * width + j).write(last.into());
            }
        }
    }
}

/// Rounds `n` sums, subnormal ones to zero.
///
/// # Safety
/// There are as many sums, and room for as many elements; the processor has the instructions.
pub(super) unsafe fn narrow(sums: *const f32, to: *mut bf16, n: usize) {
    // SAFETY: both sides have `n` elements, and the processor the instructions.
    #[cfg(target_arch = "x86_64")]
    let done = unsafe { round_vectors(sums, to.cast(), n) };
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    for i in done..n {
        // SAFETY: `i` is below `n`.
        unsafe { to.add(i).write(bf16::from_f32(*sums.add(i))) };
    }
}

/// Rounds sums as far as they fill vectors; says how many.
///
/// # Safety
/// As [`narrow`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn round_vectors(sums: *const f32, to: *mut u16, n: usize) -> usize {
    use std::arch::x86_64::{__m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_ps, _mm512_storeu_si512};
    const LANES: usize = 32;
    for i in (0..n / LANES * LANES).step_by(LANES) {
        // SAFETY: `LANES` sums and elements are left; a vector of bf16 has the bits of one of integers.
        unsafe {
            let [low, high] = [i, i + LANES / 2].map(|i| _mm512_loadu_ps(sums.add(i)));
            let rounded = _mm512_cvtne2ps_pbh(high, low);
            _mm512_storeu_si512(to.add(i).cast(), std::mem::transmute::<__m512bh, __m512i>(rounded));
        }
    }
    n / LANES * LANES
}

/// Packs so many pairs of rows.
///
/// # Safety
/// As [`pack_pairs`], for twice as many rows.
unsafe fn interleave(from: Matrix<bf16>, pairs: usize, count: usize, panel: *mut u32, width: usize) {
    let mut done = 0;
    // SAFETY: as the caller promises; `j` is below `count`.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if from.column == 1 {
            done = vectors(from, pairs, count, panel, width);
        }
        for p in 0..pairs {
            for j in done..count {
                let [first, second] = [2 * p, 2 * p + 1].map(|row| u32::from(from.from(row, j).at.read().to_bits()));
                panel.add(p * width + j).write(first | second << 16);
            }
            std::slice::from_raw_parts_mut(panel.add(p * width + count), width - count).fill(0);
        }
    }
}

/// Packs pairs of contiguous rows, as far as these fill vectors; says how many elements of each.
///
/// # Safety
/// As [`interleave`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn vectors(from: Matrix<bf16>, pairs: usize, count: usize, panel: *mut u32, width: usize) -> usize {
    use std::arch::x86_64::{
        _mm256_loadu_si256, _mm512_cvtepu16_epi32, _mm512_or_si512, _mm512_slli_epi32, _mm512_storeu_si512,
    };
    const LANES: usize = 16;
    for p in 0..pairs {
        let [first, second] = [2 * p, 2 * p + 1].map(|row| from.from(row, 0).at);
        for row in [first, second] {
            prefetch(row.wrapping_add(ROWS_AHEAD * from.row).cast(), 2 * count);
        }
        for j in (0..count / LANES * LANES).step_by(LANES) {
            // SAFETY: `LANES` elements are left of both rows and of the panel's.
            unsafe {
                let first = _mm512_cvtepu16_epi32(_mm256_loadu_si256(first.add(j).cast()));
                let second = _mm512_cvtepu16_epi32(_mm256_loadu_si256(second.add(j).cast()));
                let both = _mm512_or_si512(first, _mm512_slli_epi32::<16>(second));
                _mm512_storeu_si512(panel.add(p * width + j).cast(), both);
            }
        }
    }
    count / LANES * LANES
}
