//! Products of the integers of two blocks.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::block::{GROUP, GROUPS};
#[cfg(target_arch = "x86_64")]
use crate::simd::Isa;
use crate::simd::Simd;

/// Lanes of a running sum.
pub(super) const LANES: usize = 8;

/// Adds to `sums`, whose lanes together are the sum, `factor * sum over groups g of scales[g] * (the sum of a[i] * b[i] over g)`; without the scales
/// unless `SCALED`. Both have the same whole number of groups. No sum of integers overflows: at most 256 products of 2^14, scaled by at most 2^7.
#[inline(always)]
pub(super) fn add_products<S: Simd, const SCALED: bool>(
    sums: &mut [f32; LANES],
    [a, b]: [&[i8]; 2],
    scales: &[i32; GROUPS],
    factor: f32,
) {
    #[cfg(target_arch = "x86_64")]
    if S::ISA >= Isa::Avx2 {
        // SAFETY: a routine runs for an instruction set only where the processor has it.
        unsafe { add_by_avx2::<SCALED>(sums, [a, b], scales, factor) };
        return;
    }
    let mut totals = [0i32; LANES];
    for ((a, b), scale) in a.chunks_exact(GROUP).zip(b.chunks_exact(GROUP)).zip(scales) {
        let scale = if SCALED { *scale } else { 1 };
        for (l, total) in totals.iter_mut().enumerate() {
            let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
            *total += scale * (product(2 * l) + product(2 * l + 1));
        }
    }
    sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += factor * total as f32);
}

/// # Safety
/// The processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn add_by_avx2<const SCALED: bool>(
    sums: &mut [f32; LANES],
    [a, b]: [&[i8]; 2],
    scales: &[i32; GROUPS],
    factor: f32,
) {
    let mut totals = _mm256_setzero_si256();
    for ((a, b), &scale) in a.chunks_exact(GROUP).zip(b.chunks_exact(GROUP)).zip(scales) {
        // SAFETY: chunks have 16 bytes, and the loads need no alignment.
        let (a, b) = unsafe { (_mm_loadu_si128(a.as_ptr().cast()), _mm_loadu_si128(b.as_ptr().cast())) };
        let pairs = _mm256_madd_epi16(_mm256_cvtepi8_epi16(a), _mm256_cvtepi8_epi16(b));
        let scaled = if SCALED { _mm256_mullo_epi32(pairs, _mm256_set1_epi32(scale)) } else { pairs };
        totals = _mm256_add_epi32(totals, scaled);
    }
    // SAFETY: `sums` is 8 floats, and loads and stores need no alignment.
    unsafe {
        let sum = _mm256_loadu_ps(sums.as_ptr());
        _mm256_storeu_ps(sums.as_mut_ptr(), _mm256_fmadd_ps(_mm256_set1_ps(factor), _mm256_cvtepi32_ps(totals), sum));
    }
}
