//! Conversions between slices of small floats, of 16 and 8 bits, and f32, rounding to nearest even; NaN stays NaN.
//!
//! Each is a [`Routine`] whose arguments are source, destination and number of elements; both must be valid for that many, and they must not
//! overlap.

use std::marker::PhantomData;

use half::{bf16, f16};
use opforge_core::{F8E4M3, F8E5M2};

#[cfg(target_arch = "x86_64")]
use super::Isa;
use super::{Routine, Simd};

/// Widens f16 to f32.
pub struct WidenF16;
/// Rounds f32 to f16.
pub struct NarrowF16;
/// Widens bf16 to f32.
pub struct WidenBf16;
/// Rounds f32 to bf16.
pub struct NarrowBf16;
/// Widens [`F8E4M3`] or [`F8E5M2`] to f32.
pub struct WidenF8<T>(pub PhantomData<T>);
/// Rounds f32 to [`F8E4M3`] or [`F8E5M2`].
pub struct NarrowF8<T>(pub PhantomData<T>);

/// The same number.
#[inline(always)]
pub fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// The same number, without branches. Moves exponent and mantissa into place and corrects the exponent's bias by a multiplication, which is exact also for
/// subnormals.
#[inline(always)]
pub fn widen_f16(x: f16) -> f32 {
    const REBIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    let bits = u32::from(x.to_bits());
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * REBIAS;
    let special = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
}

impl Routine for WidenF16 {
    type Args = (*const f16, *mut f32, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut done = 0;
        // SAFETY: the caller vouches for n elements of both; the level has F16C, or its form of AVX-512.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if S::ISA >= Isa::Avx512 {
                use std::arch::x86_64::*;
                while done + 16 <= n {
                    let half = _mm256_loadu_si256(src.add(done).cast());
                    _mm512_storeu_ps(dst.add(done), _mm512_cvtph_ps(half));
                    done += 16;
                }
            }
            #[cfg(target_arch = "x86_64")]
            if S::ISA >= Isa::Avx2 {
                use std::arch::x86_64::*;
                while done + 8 <= n {
                    let half = _mm_loadu_si128(src.add(done).cast());
                    _mm256_storeu_ps(dst.add(done), _mm256_cvtph_ps(half));
                    done += 8;
                }
            }
            for i in done..n {
                dst.add(i).write(src.add(i).read().to_f32());
            }
        }
    }
}

impl Routine for NarrowF16 {
    type Args = (*const f32, *mut f16, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut done = 0;
        // SAFETY: the caller vouches for n elements of both; the level has F16C, or its form of AVX-512.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if S::ISA >= Isa::Avx512 {
                use std::arch::x86_64::*;
                while done + 16 <= n {
                    let half = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_loadu_ps(src.add(done)));
                    _mm256_storeu_si256(dst.add(done).cast(), half);
                    done += 16;
                }
            }
            #[cfg(target_arch = "x86_64")]
            if S::ISA >= Isa::Avx2 {
                use std::arch::x86_64::*;
                while done + 8 <= n {
                    let half = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(src.add(done)));
                    _mm_storeu_si128(dst.add(done).cast(), half);
                    done += 8;
                }
            }
            for i in done..n {
                dst.add(i).write(f16::from_f32(src.add(i).read()));
            }
        }
    }
}

impl Routine for WidenBf16 {
    type Args = (*const bf16, *mut f32, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut done = 0;
        // SAFETY: the caller vouches for n elements of both, and that this CPU has the level.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if S::ISA >= Isa::Avx512 {
                use std::arch::x86_64::*;
                while done + 16 <= n {
                    let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(src.add(done).cast()));
                    _mm512_storeu_si512(dst.add(done).cast(), _mm512_slli_epi32::<16>(bits));
                    done += 16;
                }
            }
            for i in done..n {
                dst.add(i).write(f32::from_bits(u32::from(src.add(i).read().to_bits()) << 16));
            }
        }
    }
}

impl Routine for NarrowBf16 {
    type Args = (*const f32, *mut bf16, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut done = 0;
        // SAFETY: the caller vouches for n elements of both, and that this CPU has the level.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if S::ISA >= Isa::Avx512 {
                while done + 16 <= n {
                    round_sixteen_to_bf16(src.add(done), dst.add(done));
                    done += 16;
                }
            }
            for i in done..n {
                dst.add(i).write(round_to_bf16(src.add(i).read()));
            }
        }
    }
}

/// As [`round_to_bf16`]. The instruction for it takes subnormal numbers for 0.
///
/// # Safety
/// The processor has AVX-512 F and BW; the pointers are valid for 16 elements.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn round_sixteen_to_bf16(src: *const f32, dst: *mut bf16) {
    use std::arch::x86_64::*;
    // SAFETY: the caller vouches for the processor and the elements.
    unsafe {
        let x = _mm512_loadu_ps(src);
        let bits = _mm512_castps_si512(x);
        let is_odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(1 << 16));
        let half = _mm512_mask_blend_epi32(is_odd, _mm512_set1_epi32(0x7fff), _mm512_set1_epi32(0x8000));
        let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
        let nearest = _mm512_add_epi32(bits, half);
        let rounded = _mm512_mask_or_epi32(nearest, is_nan, bits, _mm512_set1_epi32(0x40_0000));
        // The high halves of all lanes.
        const HIGH: [u16; 32] = {
            let mut numbers = [0; 32];
            let mut i = 0;
            while i < 16 {
                numbers[i] = 2 * i as u16 + 1;
                i += 1;
            }
            numbers
        };
        let high = _mm512_permutexvar_epi16(_mm512_loadu_si512(HIGH.as_ptr().cast()), rounded);
        _mm256_storeu_si256(dst.cast(), _mm512_castsi512_si256(high));
    }
}

/// A float of 8 bits.
pub trait Float8: Copy + 'static {
    /// The nearest number.
    fn narrow(x: f32) -> Self;
    /// The number, exactly.
    fn widen(self) -> f32;
}

macro_rules! float8 {
    ($($ty:ident),*) => {
        $(impl Float8 for $ty {
            #[inline(always)]
            fn narrow(x: f32) -> Self {
                $ty::from_f32(x)
            }
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }
        })*
    };
}
float8!(F8E4M3, F8E5M2);

impl<T: Float8> Routine for WidenF8<T> {
    type Args = (*const T, *mut f32, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        for i in 0..n {
            // SAFETY: the caller vouches for n elements of both.
            unsafe { dst.add(i).write(src.add(i).read().widen()) };
        }
    }
}

impl<T: Float8> Routine for NarrowF8<T> {
    type Args = (*const f32, *mut T, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        for i in 0..n {
            // SAFETY: the caller vouches for n elements of both.
            unsafe { dst.add(i).write(T::narrow(src.add(i).read())) };
        }
    }
}

/// Without branches, so that loops vectorise.
#[inline(always)]
fn round_to_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let quiet = bits >> 16 | 0x40;
    bf16::from_bits(if x.is_nan() { quiet } else { nearest } as u16)
}
