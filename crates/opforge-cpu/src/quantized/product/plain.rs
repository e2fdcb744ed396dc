//! Products with blocks of 32 elements, by AVX2.

use std::arch::x86_64::*;

use super::{Dots, portable, totals};
use crate::quantized::block::Packing;
use crate::quantized::factor::Row;
use crate::quantized::plain::{Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1};
use crate::simd::{Isa, Simd};

/// How a block of 32 elements is read: element `i` is `d (u[i] - CENTER)`, where `d` is its first number in half precision, plus the second where there is
/// an [`Packing::OFFSET`].
trait Quants: Packing {
    /// What is subtracted from integers.
    const CENTER: i32 = 0;
    /// Whether integers are signed; else they are from 0 to 31.
    const SIGNED: bool = false;

    /// The integers `u`.
    ///
    /// # Safety
    /// There is a block at `bytes`, and the caller's code is made for AVX2.
    unsafe fn quants(bytes: *const u8) -> __m256i;
}

impl Quants for Q4_0 {
    const CENTER: i32 = 8;

    #[inline(always)]
    unsafe fn quants(bytes: *const u8) -> __m256i {
        // SAFETY: the caller's block has 16 bytes after its scale.
        unsafe { nibbles(bytes.add(2)) }
    }
}

impl Quants for Q4_1 {
    #[inline(always)]
    unsafe fn quants(bytes: *const u8) -> __m256i {
        // SAFETY: the caller's block has 16 bytes after scale and minimum.
        unsafe { nibbles(bytes.add(4)) }
    }
}

impl Quants for Q5_0 {
    const CENTER: i32 = 16;

    #[inline(always)]
    unsafe fn quants(bytes: *const u8) -> __m256i {
        // SAFETY: the caller's block has 4 and 16 bytes after its scale.
        unsafe { _mm256_or_si256(fifth_bits(bytes.add(2)), nibbles(bytes.add(6))) }
    }
}

impl Quants for Q5_1 {
    #[inline(always)]
    unsafe fn quants(bytes: *const u8) -> __m256i {
        // SAFETY: the caller's block has 4 and 16 bytes after scale and minimum.
        unsafe { _mm256_or_si256(fifth_bits(bytes.add(4)), nibbles(bytes.add(8))) }
    }
}

impl Quants for Q8_0 {
    const SIGNED: bool = true;

    #[inline(always)]
    unsafe fn quants(bytes: *const u8) -> __m256i {
        // SAFETY: the caller's block has 32 bytes after its scale.
        unsafe { _mm256_loadu_si256(bytes.add(2).cast()) }
    }
}

impl Quants for Q8_1 {
    const SIGNED: bool = true;

    #[inline(always)]
    unsafe fn quants(bytes: *const u8) -> __m256i {
        // SAFETY: the caller's block has 32 bytes after scale and sum.
        unsafe { _mm256_loadu_si256(bytes.add(4).cast()) }
    }
}

/// The products of these types are those of [`dots`].
macro_rules! by_quants {
    ($($format:ty),*) => {$(
        impl Dots for $format {
            #[inline(always)]
            fn sums(quants: &[i8; 32], scale: f32) -> [u8; 4] {
                let sum: i32 = quants.iter().map(|&quant| i32::from(quant)).sum();
                match Self::OFFSET {
                    true => (scale * sum as f32).to_le_bytes(),
                    false => (-Self::CENTER * sum).to_le_bytes(),
                }
            }

            #[inline(always)]
            unsafe fn dots<S: Simd, const R: usize>(row: *const u8, blocks: usize, x: [Row; R]) -> [f32; R] {
                // SAFETY: `row` and `x` have `blocks` blocks, as `Dots::dots` demands; from AVX2 on the level includes the FMA and F16C of `dots`.
                unsafe {
                    match S::ISA >= Isa::Avx2 {
                        true => dots::<Self, R>(row, blocks, x),
                        false => portable::dots::<Self, R>(row, blocks, x),
                    }
                }
            }
        }
    )*};
}
by_quants!(Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1);

/// The products of a row with rows of the other factor. Blocks at even and at odd places have sums of their own, so that one addition need not wait for another.
///
/// # Safety
/// As [`Dots::dots`], of AVX2.
#[inline(always)]
unsafe fn dots<F: Quants, const R: usize>(row: *const u8, blocks: usize, x: [Row; R]) -> [f32; R] {
    // SAFETY: rows have so many blocks. The instructions are those of the caller's code.
    unsafe {
        let (mut even, mut odd) = ([_mm256_setzero_ps(); R], [_mm256_setzero_ps(); R]);
        for b in (1..blocks).step_by(2) {
            add_block::<F, R>(row, b - 1, &x, &mut even);
            add_block::<F, R>(row, b, &x, &mut odd);
        }
        if blocks % 2 == 1 {
            add_block::<F, R>(row, blocks - 1, &x, &mut even);
        }
        for (even, odd) in even.iter_mut().zip(odd) {
            *even = _mm256_add_ps(*even, odd);
        }
        totals(even)
    }
}

/// Adds the products of one block.
///
/// # Safety
/// As [`dots`]; the rows have more blocks than `b`.
#[inline(always)]
unsafe fn add_block<F: Quants, const R: usize>(row: *const u8, b: usize, x: &[Row; R], sums: &mut [__m256; R]) {
    // SAFETY: `row` and `x` have more blocks than `b`; vectors are read as far as blocks reach, without alignment; the code is made for AVX2.
    unsafe {
        let bytes = row.add(b * F::BYTES);
        let (quants, scale) = (F::quants(bytes), half(bytes));
        let offset = if F::OFFSET { half(bytes.add(2)) } else { scale };
        for (x, sum) in x.iter().zip(sums) {
            let other = _mm256_loadu_si256(x.quants.add(b * 32).cast());
            let mut product = if F::SIGNED { signed_products(quants, other) } else { products(quants, other) };
            if F::CENTER != 0 {
                product = _mm256_add_epi32(product, _mm256_zextsi128_si256(_mm_loadu_si32(x.sums.add(b).cast())));
            }
            let factor = _mm256_mul_ps(scale, _mm256_set1_ps(*x.scales.add(b)));
            let product = _mm256_cvtepi32_ps(product);
            *sum = if F::OFFSET {
                let of_x = _mm256_zextps128_ps256(_mm_load_ss(x.sums.add(b).cast()));
                _mm256_add_ps(*sum, _mm256_fmadd_ps(product, factor, _mm256_mul_ps(offset, of_x)))
            } else {
                _mm256_fmadd_ps(product, factor, *sum)
            };
        }
    }
}

/// Sums of four products each, of integers up to 127 with signed ones from -127 on.
#[inline(always)]
unsafe fn products(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's code is made for these. Sums of two products are less than 2^15.
    unsafe { _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)) }
}

/// Sums of four products each, of signed integers, those of `b` from -127 on.
#[inline(always)]
pub(super) unsafe fn signed_products(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's code is made for AVX2. Sums of two products are at most 2 * 127 * 128, less than 2^15.
    unsafe { products(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a)) }
}

/// The number in half precision at an address, in all lanes.
#[inline(always)]
pub(super) unsafe fn half(bytes: *const u8) -> __m256 {
    // SAFETY: the caller's block has the number there.
    unsafe { _mm256_cvtph_ps(_mm_set1_epi16(bytes.cast::<i16>().read_unaligned())) }
}

/// 16 bytes, whose low bits are the first 16 numbers, their high bits the others.
#[inline(always)]
unsafe fn nibbles(bytes: *const u8) -> __m256i {
    // SAFETY: the caller's block has so many bytes there.
    unsafe {
        let both = _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.cast()));
        let shifted = _mm256_srlv_epi64(both, _mm256_setr_epi64x(0, 0, 4, 4));
        _mm256_and_si256(shifted, _mm256_set1_epi8(15))
    }
}

/// 32 bits, the fifth of as many numbers: 16 or 0.
#[inline(always)]
unsafe fn fifth_bits(bytes: *const u8) -> __m256i {
    // SAFETY: the caller's block has so many bytes there.
    unsafe {
        let bits = _mm256_set1_epi32(bytes.cast::<i32>().read_unaligned());
        let byte_of = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
        let bit_of = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let set = _mm256_and_si256(_mm256_shuffle_epi8(bits, byte_of), bit_of);
        _mm256_and_si256(_mm256_cmpeq_epi8(set, bit_of), _mm256_set1_epi8(16))
    }
}
