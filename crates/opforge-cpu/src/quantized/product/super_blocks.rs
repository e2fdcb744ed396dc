//! Products with blocks of 256 elements, whose groups have scales of their own, by AVX2.

use std::arch::x86_64::*;

use super::plain::{half, signed_products};
use super::{Dots, portable, totals};
use crate::quantized::block::{MOST, Packing};
use crate::quantized::factor::Row;
use crate::quantized::super_blocks::{Q2K, Q3K, Q4K, Q5K, Q6K, Q8K};
use crate::simd::{Isa, Simd};

/// Scales and minima of 16 groups, as words.
struct Groups {
    /// Those of the groups 0, 2, 4, .. in the lower half, of the others in the upper one.
    pub scales: __m256i,
    /// In their order.
    pub mins: __m256i,
}

/// How a block of 256 elements is read: element `i` is `d scales[i / 16] u[i] - dmin mins[i / 16]`.
trait Lines: Packing {
    /// Where `d` is, in half precision.
    const D: usize;
    /// Where `dmin` is; without, it is `d`.
    const DMIN: Option<usize>;

    /// Scales and minima. The sum of two products of a minimum with 2032 does not overflow.
    ///
    /// # Safety
    /// There is a block at `bytes`, and the caller's code is made for AVX2.
    unsafe fn groups(bytes: *const u8) -> Groups;

    /// The integers `u` of elements `32 line..32 line + 32`, from 0 to 63.
    ///
    /// # Safety
    /// As [`Self::groups`]; the line is one of 8.
    unsafe fn line(bytes: *const u8, line: i32) -> __m256i;
}

impl Lines for Q2K {
    const D: usize = 80;
    const DMIN: Option<usize> = Some(82);

    #[inline(always)]
    unsafe fn groups(bytes: *const u8) -> Groups {
        // SAFETY: the caller's block begins with 16 bytes of scales and minima.
        unsafe {
            let both = _mm_loadu_si128(bytes.cast());
            let scales = _mm_and_si128(both, _mm_set1_epi8(15));
            let mins = _mm_and_si128(_mm_srli_epi16::<4>(both), _mm_set1_epi8(15));
            Groups { scales: even_and_odd(_mm256_cvtepu8_epi16(scales)), mins: _mm256_cvtepu8_epi16(mins) }
        }
    }

    #[inline(always)]
    unsafe fn line(bytes: *const u8, line: i32) -> __m256i {
        // SAFETY: the caller's block has 64 bytes there.
        unsafe { pairs(bytes.add(16), line) }
    }
}

impl Lines for Q3K {
    const D: usize = 108;
    const DMIN: Option<usize> = None;

    /// The low 4 bits of scale `g` are in byte `g % 8`, low or high, the two above them in byte `8 + g % 4`, from the low bits up. All integers are less by 4.
    #[inline(always)]
    unsafe fn groups(bytes: *const u8) -> Groups {
        // SAFETY: the caller's block has 12 bytes there, and 2 after them.
        unsafe {
            let low = _mm_loadl_epi64(bytes.add(96).cast());
            let low = _mm_and_si128(_mm_unpacklo_epi64(low, _mm_srli_epi16::<4>(low)), _mm_set1_epi8(15));
            let high = _mm_set1_epi32(bytes.add(104).cast::<i32>().read_unaligned());
            let high = _mm_and_si128(_mm_srlv_epi32(high, _mm_setr_epi32(0, 2, 4, 6)), _mm_set1_epi8(3));
            let both = _mm_or_si128(low, _mm_slli_epi16::<4>(high));
            centered::<2>(_mm_sub_epi8(both, _mm_set1_epi8(32)))
        }
    }

    #[inline(always)]
    unsafe fn line(bytes: *const u8, line: i32) -> __m256i {
        // SAFETY: the caller's block has so many bytes there.
        unsafe { _mm256_or_si256(pairs(bytes.add(32), line), _mm256_slli_epi16::<2>(bits(bytes, line, 1))) }
    }
}

impl Lines for Q4K {
    const D: usize = 0;
    const DMIN: Option<usize> = Some(2);

    #[inline(always)]
    unsafe fn groups(bytes: *const u8) -> Groups {
        // SAFETY: the caller's block has 12 bytes there.
        unsafe { six_bits(bytes.add(4)) }
    }

    #[inline(always)]
    unsafe fn line(bytes: *const u8, line: i32) -> __m256i {
        // SAFETY: the caller's block has 128 bytes there.
        unsafe { bits(bytes.add(16 + 32 * (line as usize / 2)), 4 * (line % 2), 4) }
    }
}

impl Lines for Q5K {
    const D: usize = 0;
    const DMIN: Option<usize> = Some(2);

    #[inline(always)]
    unsafe fn groups(bytes: *const u8) -> Groups {
        // SAFETY: the caller's block has 12 bytes there.
        unsafe { six_bits(bytes.add(4)) }
    }

    #[inline(always)]
    unsafe fn line(bytes: *const u8, line: i32) -> __m256i {
        // SAFETY: the caller's block has 32 bytes of fifth bits there, and 128 of the others.
        unsafe {
            let low = bits(bytes.add(48 + 32 * (line as usize / 2)), 4 * (line % 2), 4);
            _mm256_or_si256(low, _mm256_slli_epi16::<4>(bits(bytes.add(16), line, 1)))
        }
    }
}

impl Lines for Q6K {
    const D: usize = 208;
    const DMIN: Option<usize> = None;

    /// All integers are less by 32.
    #[inline(always)]
    unsafe fn groups(bytes: *const u8) -> Groups {
        // SAFETY: the caller's block has 16 bytes there.
        unsafe { centered::<5>(_mm_loadu_si128(bytes.add(192).cast())) }
    }

    #[inline(always)]
    unsafe fn line(bytes: *const u8, line: i32) -> __m256i {
        let (part, of_part) = (line as usize / 4, line % 4);
        // SAFETY: the caller's block has 128 bytes of low bits, then 64 of high ones.
        unsafe {
            let low = bits(bytes.add(64 * part + 32 * (line as usize % 2)), 4 * (of_part / 2), 4);
            _mm256_or_si256(low, _mm256_slli_epi16::<4>(pairs(bytes.add(128), line)))
        }
    }
}

/// The products of these types are those of a function.
macro_rules! by_lines {
    ($($format:ty: $dots:ident<$($parameter:ident),*>),* $(,)?) => {$(
        impl Dots for $format {
            #[inline(always)]
            fn sums(quants: &[i8; 32], _scale: f32) -> [u8; 4] {
                sums_of_16(quants)
            }

            #[inline(always)]
            unsafe fn dots<S: Simd, const R: usize>(row: *const u8, blocks: usize, x: [Row; R]) -> [f32; R] {
                // SAFETY: `row` and `x` have `blocks` blocks, as `Dots::dots` demands; from AVX2 on the level includes the FMA and F16C of `$dots`.
                unsafe {
                    match S::ISA >= Isa::Avx2 {
                        true => $dots::<$($parameter),*>(row, blocks, x),
                        false => portable::dots::<Self, R>(row, blocks, x),
                    }
                }
            }
        }
    )*};
}
by_lines!(
    Q2K: dots<S, Self, R>,
    Q3K: dots<S, Self, R>,
    Q4K: dots<S, Self, R>,
    Q5K: dots<S, Self, R>,
    Q6K: dots<S, Self, R>,
    Q8K: signed_dots<Self, R>,
);

/// The sums of 16 integers each.
#[inline(always)]
fn sums_of_16(quants: &[i8; 32]) -> [u8; 4] {
    let sum = |half: &[i8]| half.iter().map(|&quant| i16::from(quant)).sum::<i16>().to_le_bytes();
    let ([a, b], [c, d]) = (sum(&quants[..16]), sum(&quants[16..]));
    [a, b, c, d]
}

/// The products of a row with rows of the other factor, whose sums are those of 16 integers each.
///
/// # Safety
/// As [`Dots::dots`], of AVX2.
#[inline(always)]
unsafe fn dots<S: Simd, F: Lines, const R: usize>(row: *const u8, blocks: usize, x: [Row; R]) -> [f32; R] {
    // SAFETY: rows have so many blocks; vectors are read as far as they reach, without alignment. The instructions are those of the caller's code.
    unsafe {
        let mut sums = [_mm256_setzero_ps(); R];
        for b in 0..blocks {
            let bytes = row.add(b * F::BYTES);
            let groups = F::groups(bytes);
            let products = match S::ISA >= Isa::Avx512 && R > 1 {
                true => wide_products::<F, R>(bytes, groups.scales, b, &x),
                false => products::<F, R>(bytes, groups.scales, b, &x),
            };
            let d = half(bytes.add(F::D));
            for ((x, product), sum) in x.iter().zip(products).zip(&mut sums) {
                let of_x = _mm256_loadu_si256(x.sums.add(8 * b).cast());
                let less = _mm256_madd_epi16(groups.mins, of_x);
                let scale = _mm256_set1_ps(*x.scales.add(b));
                let Some(dmin) = F::DMIN else {
                    let centered = _mm256_cvtepi32_ps(_mm256_sub_epi32(product, less));
                    *sum = _mm256_fmadd_ps(centered, _mm256_mul_ps(d, scale), *sum);
                    continue;
                };
                let both = _mm256_mul_ps(half(bytes.add(dmin)), _mm256_cvtepi32_ps(less));
                let both = _mm256_fmsub_ps(d, _mm256_cvtepi32_ps(product), both);
                *sum = _mm256_fmadd_ps(both, scale, *sum);
            }
        }
        totals(sums)
    }
}

/// The scaled sums of products of block `b` of the rows, at `bytes` in the matrix.
///
/// # Safety
/// As [`dots`].
#[inline(always)]
unsafe fn products<F: Lines, const R: usize>(
    bytes: *const u8,
    scales: __m256i,
    b: usize,
    x: &[Row; R],
) -> [__m256i; R] {
    // SAFETY: block `b` is at `bytes`, and each of `x` has integers for it, as `dots` demands; its code is made for AVX2.
    unsafe {
        let mut sums = [_mm256_setzero_si256(); R];
        for line in 0..8 {
            let (quants, scales) = (F::line(bytes, line), scales_of(scales, line));
            for (x, sum) in x.iter().zip(&mut sums) {
                let other = _mm256_loadu_si256(x.quants.add(b * MOST).cast::<__m256i>().add(line as usize));
                let scaled = _mm256_madd_epi16(_mm256_maddubs_epi16(quants, other), scales);
                *sum = _mm256_add_epi32(*sum, scaled);
            }
        }
        sums
    }
}

/// The same, two lines at a time.
///
/// # Safety
/// As [`dots`], of AVX-512.
#[inline(always)]
unsafe fn wide_products<F: Lines, const R: usize>(
    bytes: *const u8,
    scales: __m256i,
    b: usize,
    x: &[Row; R],
) -> [__m256i; R] {
    // SAFETY: block `b` is at `bytes`, and each of `x` has integers for it, as `dots` demands; here the code is made for AVX-512.
    unsafe {
        let mut sums = [_mm512_setzero_si512(); R];
        for pair in 0..4 {
            let lines = [2 * pair, 2 * pair + 1];
            let quants = joined(F::line(bytes, lines[0]), F::line(bytes, lines[1]));
            let scales = joined(scales_of(scales, lines[0]), scales_of(scales, lines[1]));
            for (x, sum) in x.iter().zip(&mut sums) {
                let other = _mm512_loadu_si512(x.quants.add(b * MOST).cast::<__m512i>().add(pair as usize));
                let scaled = _mm512_madd_epi16(_mm512_maddubs_epi16(quants, other), scales);
                *sum = _mm512_add_epi32(*sum, scaled);
            }
        }
        let mut halves = [_mm256_setzero_si256(); R];
        for (half, sum) in halves.iter_mut().zip(sums) {
            *half = _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
        }
        halves
    }
}

/// The products of a row of signed bytes, which are scaled by a number in f32 before them.
///
/// # Safety
/// As [`Dots::dots`], of AVX2.
#[inline(always)]
unsafe fn signed_dots<F: Packing, const R: usize>(row: *const u8, blocks: usize, x: [Row; R]) -> [f32; R] {
    // SAFETY: `row` and `x` have `blocks` blocks, each of 256 signed bytes, as `Dots::dots` demands; the code is made for AVX2.
    unsafe {
        let mut sums = [_mm256_setzero_ps(); R];
        for b in 0..blocks {
            let bytes = row.add(b * F::BYTES);
            for (x, sum) in x.iter().zip(&mut sums) {
                let mut totals = _mm256_setzero_si256();
                for line in 0..MOST / 32 {
                    let quants = _mm256_loadu_si256(bytes.add(4 + 32 * line).cast());
                    let other = _mm256_loadu_si256(x.quants.add(b * MOST + 32 * line).cast());
                    totals = _mm256_add_epi32(totals, signed_products(quants, other));
                }
                let scale = bytes.cast::<f32>().read_unaligned() * *x.scales.add(b);
                *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(totals), _mm256_set1_ps(scale), *sum);
            }
        }
        totals(sums)
    }
}

/// Two vectors as one.
#[inline(always)]
unsafe fn joined(low: __m256i, high: __m256i) -> __m512i {
    // SAFETY: the caller's code is made for AVX-512.
    unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high) }
}

/// The scales of a line's two groups, each in half of the words.
#[inline(always)]
unsafe fn scales_of(scales: __m256i, line: i32) -> __m256i {
    // SAFETY: the caller's code is made for these.
    unsafe { _mm256_shuffle_epi8(scales, _mm256_set1_epi16((0x0100 + 0x0202 * line) as i16)) }
}

/// Words in their order, with those of even places in the lower half.
#[inline(always)]
unsafe fn even_and_odd(words: __m256i) -> __m256i {
    // SAFETY: the caller's code is made for these.
    unsafe {
        let order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
        _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_shuffle_epi8(words, order))
    }
}

/// `bits` of each byte above `shift` others, which are less than 8 together.
#[inline(always)]
unsafe fn bits(bytes: *const u8, shift: i32, bits: u32) -> __m256i {
    // SAFETY: the caller's block has 32 bytes there.
    unsafe {
        let words = _mm256_srl_epi16(_mm256_loadu_si256(bytes.cast()), _mm_cvtsi32_si128(shift));
        _mm256_and_si256(words, _mm256_set1_epi8(((1u32 << bits) - 1) as i8))
    }
}

/// Signed scales of 16 groups, whose integers are less by `2^LOG2`.
#[inline(always)]
unsafe fn centered<const LOG2: i32>(scales: __m128i) -> Groups {
    // SAFETY: the caller's code is made for these.
    unsafe {
        let scales = _mm256_cvtepi8_epi16(scales);
        Groups { scales: even_and_odd(scales), mins: _mm256_slli_epi16::<LOG2>(scales) }
    }
}

/// The line's two bits an element, of 64 bytes as `read_pairs` has them.
#[inline(always)]
unsafe fn pairs(bytes: *const u8, line: i32) -> __m256i {
    // SAFETY: the caller's block has 64 bytes there.
    unsafe { bits(bytes.add(32 * (line as usize / 4)), 2 * (line % 4), 2) }
}

/// The eight scales and minima of 6 bits in 12 bytes, each for two groups of 16. Where they are, `read_six_bits` says.
#[inline(always)]
unsafe fn six_bits(bytes: *const u8) -> Groups {
    // SAFETY: the caller's block has 12 bytes there.
    unsafe {
        let four = |at: usize| bytes.add(at).cast::<u32>().read_unaligned();
        let (scale, min, both) = (four(0), four(4), four(8));
        let late_scale = (both & 0x0f0f_0f0f) | (scale >> 2 & 0x3030_3030);
        let late_min = (both >> 4 & 0x0f0f_0f0f) | (min >> 2 & 0x3030_3030);
        let eight = |early: u32, late: u32| i64::from(early & 0x3f3f_3f3f) | i64::from(late) << 32;
        let scales = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(eight(scale, late_scale)));
        let mins = _mm_cvtsi64_si128(eight(min, late_min));
        Groups {
            scales: _mm256_broadcastsi128_si256(scales),
            mins: _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(mins, mins)),
        }
    }
}
