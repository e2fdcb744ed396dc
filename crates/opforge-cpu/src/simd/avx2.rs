//! 256-bit vectors.

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Bits, Float, Vector, VectorMask, by_lanes};

#[derive(Clone, Copy)]
pub struct F32(__m256);
#[derive(Clone, Copy)]
pub struct F64(__m256d);
#[derive(Clone, Copy)]
pub struct Bits32(__m256i);
#[derive(Clone, Copy)]
pub struct Bits64(__m256i);
#[derive(Clone, Copy)]
pub struct Mask8(__m256);
#[derive(Clone, Copy)]
pub struct Mask4(__m256d);

operators!(F32: Add::add = _mm256_add_ps, Sub::sub = _mm256_sub_ps, Mul::mul = _mm256_mul_ps, Div::div = _mm256_div_ps);
operators!(F64: Add::add = _mm256_add_pd, Sub::sub = _mm256_sub_pd, Mul::mul = _mm256_mul_pd, Div::div = _mm256_div_pd);
operators!(Bits32: Add::add = _mm256_add_epi32, Sub::sub = _mm256_sub_epi32,
    BitAnd::bitand = _mm256_and_si256, BitOr::bitor = _mm256_or_si256, BitXor::bitxor = _mm256_xor_si256);
operators!(Bits64: Add::add = _mm256_add_epi64, Sub::sub = _mm256_sub_epi64,
    BitAnd::bitand = _mm256_and_si256, BitOr::bitor = _mm256_or_si256, BitXor::bitxor = _mm256_xor_si256);

/// Masks hold all ones or all zeros a lane.
macro_rules! mask {
    ($ty:ident, $lanes:literal, $movemask:ident, $xor:ident, $ones:expr) => {
        impl Not for $ty {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                // SAFETY: vectors exist only where the processor has the instructions.
                Self(unsafe { $xor(self.0, $ones) })
            }
        }
        impl VectorMask for $ty {
            #[inline(always)]
            fn bitmask(self) -> u32 {
                // SAFETY: vectors exist only where the processor has the instructions.
                unsafe { $movemask(self.0) as u32 }
            }
            #[inline(always)]
            unsafe fn store_bools(self, ptr: *mut u8, n: usize) {
                // SAFETY: the caller vouches for n bytes, of which there are at most as many as lanes.
                unsafe {
                    let bytes = _pdep_u64(self.bitmask().into(), 0x0101_0101_0101_0101).to_le_bytes();
                    if n == $lanes {
                        ptr.cast::<[u8; $lanes]>().write_unaligned(*bytes.as_ptr().cast());
                    } else {
                        ptr.copy_from_nonoverlapping(bytes.as_ptr(), n);
                    }
                }
            }
        }
    };
}
operators!(Mask8: BitAnd::bitand = _mm256_and_ps, BitOr::bitor = _mm256_or_ps, BitXor::bitxor = _mm256_xor_ps);
operators!(Mask4: BitAnd::bitand = _mm256_and_pd, BitOr::bitor = _mm256_or_pd, BitXor::bitxor = _mm256_xor_pd);
mask!(Mask8, 8, _mm256_movemask_ps, _mm256_xor_ps, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
mask!(Mask4, 4, _mm256_movemask_pd, _mm256_xor_pd, _mm256_castsi256_pd(_mm256_set1_epi64x(-1)));

/// Masks of the first n lanes start at `LANES - n`.
static FIRST32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
static FIRST64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

macro_rules! bits {
    ($ty:ident, $mask:ident, $lane:ty, $splat:ident, $shl:ident, $shr:ident, $eq:ident, $gt:ident, $cast:ident) => {
        shifts!($ty: $shl, $shr);
        impl Bits for $ty {
            type Mask = $mask;
            methods! {
                fn splat(value: i64) -> Self = Self($splat(value as $lane));
                fn eq(self, other: Self) -> $mask = $mask($cast($eq(self.0, other.0)));
                fn gt(self, other: Self) -> $mask = $mask($cast($gt(self.0, other.0)));
            }
        }
    };
}
bits!(
    Bits32,
    Mask8,
    i32,
    _mm256_set1_epi32,
    _mm256_sll_epi32,
    _mm256_srl_epi32,
    _mm256_cmpeq_epi32,
    _mm256_cmpgt_epi32,
    _mm256_castsi256_ps
);
bits!(
    Bits64,
    Mask4,
    i64,
    _mm256_set1_epi64x,
    _mm256_sll_epi64,
    _mm256_srl_epi64,
    _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi64,
    _mm256_castsi256_pd
);

impl Neg for F32 {
    type Output = Self;
    methods! {
        fn neg(self) -> Self = Self(_mm256_xor_ps(self.0, _mm256_set1_ps(-0.0)));
    }
}

impl Float for F32 {
    type Mask = Mask8;
    type Bits = Bits32;
    type Wide = F64;
    const DOUBLE: bool = false;

    by_lanes!(fused: true);
    methods! {
        fn splat(value: f64) -> Self = Self(_mm256_set1_ps(value as f32));
        fn mul_add(self, a: Self, b: Self) -> Self = Self(_mm256_fmadd_ps(self.0, a.0, b.0));
        fn abs(self) -> Self = Self(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0));
        fn sqrt(self) -> Self = Self(_mm256_sqrt_ps(self.0));
        fn floor(self) -> Self = Self(_mm256_round_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn ceil(self) -> Self = Self(_mm256_round_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn trunc(self) -> Self = Self(_mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0));
        fn round_ties_even(self) -> Self = Self(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0));
        // The instruction returns its second operand if either is NaN.
        fn min(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm256_min_ps(self.0, other.0)));
        // The instruction returns its second operand if either is NaN.
        fn max(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm256_max_ps(self.0, other.0)));
        // The instructions return their second operand if either is NaN.
        fn clamp(self, low: Self, high: Self) -> Self = Self(_mm256_max_ps(low.0, _mm256_min_ps(high.0, self.0)));
        fn lt(self, other: Self) -> Mask8 = Mask8(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0));
        fn le(self, other: Self) -> Mask8 = Mask8(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, other.0));
        fn eq(self, other: Self) -> Mask8 = Mask8(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0));
        fn ne(self, other: Self) -> Mask8 = Mask8(_mm256_cmp_ps::<_CMP_NEQ_UQ>(self.0, other.0));
        fn select(mask: Mask8, a: Self, b: Self) -> Self = Self(_mm256_blendv_ps(b.0, a.0, mask.0));
        fn to_bits(self) -> Bits32 = Bits32(_mm256_castps_si256(self.0));
        fn from_bits(bits: Bits32) -> Self = Self(_mm256_castsi256_ps(bits.0));
        fn to_int(self) -> Bits32 = Bits32(_mm256_cvtps_epi32(self.0));
        fn from_int(int: Bits32) -> Self = Self(_mm256_cvtepi32_ps(int.0));
    }
    #[inline(always)]
    fn via_f64(self, f: impl Fn(F64) -> F64) -> Self {
        let (low, high) = widen(self);
        narrow(f(low), f(high))
    }
    #[inline(always)]
    fn via_f64_2(self, other: Self, f: impl Fn(F64, F64) -> F64) -> Self {
        let ((a, b), (c, d)) = (widen(self), widen(other));
        narrow(f(a, c), f(b, d))
    }
}

impl Vector for F32 {
    type Elem = f32;
    const LANES: usize = 8;

    methods! {
        fn splat_elem(value: f32) -> Self = Self(_mm256_set1_ps(value));
    }
    #[inline(always)]
    unsafe fn load(ptr: *const f32) -> Self {
        // SAFETY: eight elements are readable at `ptr`, of any alignment; vectors exist only inside routines of this level.
        Self(unsafe { _mm256_loadu_ps(ptr) })
    }
    #[inline(always)]
    unsafe fn load_partial(ptr: *const f32, n: usize) -> Self {
        // SAFETY: lanes that are masked off are not accessed.
        Self(unsafe { _mm256_maskload_ps(ptr, _mm256_castps_si256(Self::first(n).0)) })
    }
    #[inline(always)]
    unsafe fn store(self, ptr: *mut f32) {
        // SAFETY: the caller vouches for LANES writable elements.
        unsafe { _mm256_storeu_ps(ptr, self.0) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, ptr: *mut f32, n: usize) {
        // SAFETY: vectors exist only inside routines of this level; the caller vouches for `n` writable elements.
        unsafe { store_first_ps(ptr, n, self.0) }
    }
    #[inline(always)]
    fn first(n: usize) -> Mask8 {
        // SAFETY: 8 entries follow every offset up to 8.
        Mask8(unsafe { _mm256_loadu_ps(FIRST32.as_ptr().add(8 - n.min(8)).cast()) })
    }
    #[inline(always)]
    fn lookup(self, next: Self, indices: Bits32) -> Self {
        // Bit 3 tells the vectors apart: as the sign it chooses.
        // SAFETY: vectors exist only where the processor has the instructions.
        Self(unsafe {
            let (own, other) =
                (_mm256_permutevar8x32_ps(self.0, indices.0), _mm256_permutevar8x32_ps(next.0, indices.0));
            _mm256_blendv_ps(own, other, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(indices.0)))
        })
    }
}

impl Neg for F64 {
    type Output = Self;
    methods! {
        fn neg(self) -> Self = Self(_mm256_xor_pd(self.0, _mm256_set1_pd(-0.0)));
    }
}

impl Float for F64 {
    type Mask = Mask4;
    type Bits = Bits64;
    type Wide = F64;
    const DOUBLE: bool = true;

    by_lanes!(fused: true);
    methods! {
        fn splat(value: f64) -> Self = Self(_mm256_set1_pd(value));
        fn mul_add(self, a: Self, b: Self) -> Self = Self(_mm256_fmadd_pd(self.0, a.0, b.0));
        fn abs(self) -> Self = Self(_mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0));
        fn sqrt(self) -> Self = Self(_mm256_sqrt_pd(self.0));
        fn floor(self) -> Self = Self(_mm256_round_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn ceil(self) -> Self = Self(_mm256_round_pd::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn trunc(self) -> Self = Self(_mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0));
        fn round_ties_even(self) -> Self = Self(_mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0));
        // The instruction returns its second operand if either is NaN.
        fn min(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm256_min_pd(self.0, other.0)));
        // The instruction returns its second operand if either is NaN.
        fn max(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm256_max_pd(self.0, other.0)));
        // The instructions return their second operand if either is NaN.
        fn clamp(self, low: Self, high: Self) -> Self = Self(_mm256_max_pd(low.0, _mm256_min_pd(high.0, self.0)));
        fn lt(self, other: Self) -> Mask4 = Mask4(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0));
        fn le(self, other: Self) -> Mask4 = Mask4(_mm256_cmp_pd::<_CMP_LE_OQ>(self.0, other.0));
        fn eq(self, other: Self) -> Mask4 = Mask4(_mm256_cmp_pd::<_CMP_EQ_OQ>(self.0, other.0));
        fn ne(self, other: Self) -> Mask4 = Mask4(_mm256_cmp_pd::<_CMP_NEQ_UQ>(self.0, other.0));
        fn select(mask: Mask4, a: Self, b: Self) -> Self = Self(_mm256_blendv_pd(b.0, a.0, mask.0));
        fn to_bits(self) -> Bits64 = Bits64(_mm256_castpd_si256(self.0));
        fn from_bits(bits: Bits64) -> Self = Self(_mm256_castsi256_pd(bits.0));
    }
    #[inline(always)]
    fn to_int(self) -> Bits64 {
        // Adding 1.5 * 2^52 leaves the rounded integer in the low bits.
        let magic = Self::splat(6755399441055744.0);
        (self + magic).to_bits() - magic.to_bits()
    }
    #[inline(always)]
    fn from_int(int: Bits64) -> Self {
        let magic = Self::splat(6755399441055744.0);
        Self::from_bits(int + magic.to_bits()) - magic
    }
    #[inline(always)]
    fn via_f64(self, f: impl Fn(F64) -> F64) -> Self {
        f(self)
    }
    #[inline(always)]
    fn via_f64_2(self, other: Self, f: impl Fn(F64, F64) -> F64) -> Self {
        f(self, other)
    }
}

impl Vector for F64 {
    type Elem = f64;
    const LANES: usize = 4;

    methods! {
        fn splat_elem(value: f64) -> Self = Self(_mm256_set1_pd(value));
    }
    #[inline(always)]
    unsafe fn load(ptr: *const f64) -> Self {
        // SAFETY: four elements are readable at `ptr`, of any alignment; vectors exist only inside routines of this level.
        Self(unsafe { _mm256_loadu_pd(ptr) })
    }
    #[inline(always)]
    unsafe fn load_partial(ptr: *const f64, n: usize) -> Self {
        // SAFETY: lanes that are masked off are not accessed.
        Self(unsafe { _mm256_maskload_pd(ptr, _mm256_castpd_si256(Self::first(n).0)) })
    }
    #[inline(always)]
    unsafe fn store(self, ptr: *mut f64) {
        // SAFETY: the caller vouches for LANES writable elements.
        unsafe { _mm256_storeu_pd(ptr, self.0) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, ptr: *mut f64, n: usize) {
        // SAFETY: vectors exist only inside routines of this level; the caller vouches for `n` writable elements.
        unsafe { store_first_pd(ptr, n, self.0) }
    }
    methods! {
        fn partners(self, distance: usize) -> Self = Self(if distance == 2 {
            _mm256_permute2f128_pd::<1>(self.0, self.0)
        } else {
            _mm256_permute_pd::<0b0101>(self.0)
        });
        fn interleaved(self, other: Self, half: usize) -> [Self; 2] = if half == 2 {
            [Self(_mm256_permute2f128_pd::<0x20>(self.0, other.0)), Self(_mm256_permute2f128_pd::<0x31>(self.0, other.0))]
        } else {
            [Self(_mm256_unpacklo_pd(self.0, other.0)), Self(_mm256_unpackhi_pd(self.0, other.0))]
        };
    }
    #[inline(always)]
    fn first(n: usize) -> Mask4 {
        // SAFETY: 4 entries follow every offset up to 4.
        Mask4(unsafe { _mm256_loadu_pd(FIRST64.as_ptr().add(4 - n.min(4)).cast()) })
    }
}

/// Writes the first `n` lanes, at most all, in halves of halves: for one store with a mask, a Zen 4 takes twelve cycles.
///
/// # Safety
/// `ptr` is writable for `n` elements, and the CPU has AVX2.
#[inline(always)]
pub(crate) unsafe fn store_first_ps(mut ptr: *mut f32, n: usize, v: __m256) {
    // SAFETY: as many elements are written as the bits of `n` say.
    unsafe {
        if n >= 8 {
            return _mm256_storeu_ps(ptr, v);
        }
        let mut rest = _mm256_castps256_ps128(v);
        if n & 4 != 0 {
            _mm_storeu_ps(ptr, rest);
            rest = _mm256_extractf128_ps::<1>(v);
            ptr = ptr.add(4);
        }
        if n & 2 != 0 {
            _mm_storel_pd(ptr.cast(), _mm_castps_pd(rest));
            rest = _mm_movehl_ps(rest, rest);
            ptr = ptr.add(2);
        }
        if n & 1 != 0 {
            _mm_store_ss(ptr, rest);
        }
    }
}

/// [`store_first_ps`] of f64.
///
/// # Safety
/// As for that.
#[inline(always)]
pub(crate) unsafe fn store_first_pd(mut ptr: *mut f64, n: usize, v: __m256d) {
    // SAFETY: as many elements are written as the bits of `n` say.
    unsafe {
        if n >= 4 {
            return _mm256_storeu_pd(ptr, v);
        }
        let mut rest = _mm256_castpd256_pd128(v);
        if n & 2 != 0 {
            _mm_storeu_pd(ptr, rest);
            rest = _mm256_extractf128_pd::<1>(v);
            ptr = ptr.add(2);
        }
        if n & 1 != 0 {
            _mm_store_sd(ptr, rest);
        }
    }
}

#[inline(always)]
fn widen(v: F32) -> (F64, F64) {
    // SAFETY: vectors exist only where the processor has the instructions.
    unsafe {
        (F64(_mm256_cvtps_pd(_mm256_castps256_ps128(v.0))), F64(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(v.0))))
    }
}

#[inline(always)]
fn narrow(low: F64, high: F64) -> F32 {
    // SAFETY: vectors exist only where the processor has the instructions.
    F32(unsafe { _mm256_set_m128(_mm256_cvtpd_ps(high.0), _mm256_cvtpd_ps(low.0)) })
}
