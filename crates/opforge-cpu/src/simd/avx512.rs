//! 512-bit vectors.

use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Bits, Float, Vector, VectorMask, by_lanes};

#[derive(Clone, Copy)]
pub struct F32(__m512);
#[derive(Clone, Copy)]
pub struct F64(__m512d);
#[derive(Clone, Copy)]
pub struct Bits32(__m512i);
#[derive(Clone, Copy)]
pub struct Bits64(__m512i);
#[derive(Clone, Copy)]
pub struct Mask16(__mmask16);
#[derive(Clone, Copy)]
pub struct Mask8(__mmask8);

operators!(F32: Add::add = _mm512_add_ps, Sub::sub = _mm512_sub_ps, Mul::mul = _mm512_mul_ps, Div::div = _mm512_div_ps);
operators!(F64: Add::add = _mm512_add_pd, Sub::sub = _mm512_sub_pd, Mul::mul = _mm512_mul_pd, Div::div = _mm512_div_pd);
operators!(Bits32: Add::add = _mm512_add_epi32, Sub::sub = _mm512_sub_epi32,
    BitAnd::bitand = _mm512_and_si512, BitOr::bitor = _mm512_or_si512, BitXor::bitxor = _mm512_xor_si512);
operators!(Bits64: Add::add = _mm512_add_epi64, Sub::sub = _mm512_sub_epi64,
    BitAnd::bitand = _mm512_and_si512, BitOr::bitor = _mm512_or_si512, BitXor::bitxor = _mm512_xor_si512);

macro_rules! mask {
    ($ty:ident) => {
        impl BitAnd for $ty {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }
        impl BitOr for $ty {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
        impl BitXor for $ty {
            type Output = Self;
            #[inline(always)]
            fn bitxor(self, other: Self) -> Self {
                Self(self.0 ^ other.0)
            }
        }
        impl Not for $ty {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                Self(!self.0)
            }
        }
        impl VectorMask for $ty {
            #[inline(always)]
            fn bitmask(self) -> u32 {
                self.0.into()
            }
            #[inline(always)]
            unsafe fn store_bools(self, ptr: *mut u8, n: usize) {
                // SAFETY: the caller vouches for n bytes; masks exist only where the processor has the instructions.
                unsafe { _mm_mask_storeu_epi8(ptr.cast(), first(n), _mm_maskz_set1_epi8(self.0.into(), 1)) }
            }
        }
    };
}
mask!(Mask16);
mask!(Mask8);

/// The mask with the first `n <= 16` bits set.
#[inline(always)]
fn first(n: usize) -> u16 {
    ((1u32 << n) - 1) as u16
}

macro_rules! bits {
    ($ty:ident, $mask:ident, $lane:ty, $splat:ident, $shl:ident, $shr:ident, $eq:ident, $gt:ident) => {
        shifts!($ty: $shl, $shr);
        impl Bits for $ty {
            type Mask = $mask;
            methods! {
                fn splat(value: i64) -> Self = Self($splat(value as $lane));
                fn eq(self, other: Self) -> $mask = $mask($eq(self.0, other.0));
                fn gt(self, other: Self) -> $mask = $mask($gt(self.0, other.0));
            }
        }
    };
}
bits!(
    Bits32,
    Mask16,
    i32,
    _mm512_set1_epi32,
    _mm512_sll_epi32,
    _mm512_srl_epi32,
    _mm512_cmpeq_epi32_mask,
    _mm512_cmpgt_epi32_mask
);
bits!(
    Bits64,
    Mask8,
    i64,
    _mm512_set1_epi64,
    _mm512_sll_epi64,
    _mm512_srl_epi64,
    _mm512_cmpeq_epi64_mask,
    _mm512_cmpgt_epi64_mask
);

impl Neg for F32 {
    type Output = Self;
    methods! {
        fn neg(self) -> Self = Self(_mm512_xor_ps(self.0, _mm512_set1_ps(-0.0)));
    }
}

impl Float for F32 {
    type Mask = Mask16;
    type Bits = Bits32;
    type Wide = F64;
    const DOUBLE: bool = false;

    by_lanes!(fused: true);
    methods! {
        fn splat(value: f64) -> Self = Self(_mm512_set1_ps(value as f32));
        fn mul_add(self, a: Self, b: Self) -> Self = Self(_mm512_fmadd_ps(self.0, a.0, b.0));
        fn abs(self) -> Self = Self(_mm512_abs_ps(self.0));
        fn sqrt(self) -> Self = Self(_mm512_sqrt_ps(self.0));
        fn floor(self) -> Self = Self(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn ceil(self) -> Self = Self(_mm512_roundscale_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn trunc(self) -> Self = Self(_mm512_roundscale_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0));
        fn round_ties_even(self) -> Self = Self(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0));
        // The instruction returns its second operand if either is NaN.
        fn min(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm512_min_ps(self.0, other.0)));
        // The instruction returns its second operand if either is NaN.
        fn max(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm512_max_ps(self.0, other.0)));
        // The instructions return their second operand if either is NaN.
        fn clamp(self, low: Self, high: Self) -> Self = Self(_mm512_max_ps(low.0, _mm512_min_ps(high.0, self.0)));
        fn times_power(self, n: Self) -> Self = Self(_mm512_scalef_ps(self.0, n.0));
        fn lt(self, other: Self) -> Mask16 = Mask16(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0));
        fn le(self, other: Self) -> Mask16 = Mask16(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, other.0));
        fn eq(self, other: Self) -> Mask16 = Mask16(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, other.0));
        fn ne(self, other: Self) -> Mask16 = Mask16(_mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(self.0, other.0));
        fn select(mask: Mask16, a: Self, b: Self) -> Self = Self(_mm512_mask_blend_ps(mask.0, b.0, a.0));
        fn to_bits(self) -> Bits32 = Bits32(_mm512_castps_si512(self.0));
        fn from_bits(bits: Bits32) -> Self = Self(_mm512_castsi512_ps(bits.0));
        fn to_int(self) -> Bits32 = Bits32(_mm512_cvtps_epi32(self.0));
        fn from_int(int: Bits32) -> Self = Self(_mm512_cvtepi32_ps(int.0));
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
    const LANES: usize = 16;

    methods! {
        fn splat_elem(value: f32) -> Self = Self(_mm512_set1_ps(value));
    }
    #[inline(always)]
    unsafe fn load(ptr: *const f32) -> Self {
        // SAFETY: sixteen elements are readable at `ptr`, of any alignment; vectors exist only inside routines of this level.
        Self(unsafe { _mm512_loadu_ps(ptr) })
    }
    #[inline(always)]
    unsafe fn load_partial(ptr: *const f32, n: usize) -> Self {
        // SAFETY: lanes that are masked off are not accessed.
        Self(unsafe { _mm512_maskz_loadu_ps(first(n), ptr) })
    }
    #[inline(always)]
    unsafe fn store(self, ptr: *mut f32) {
        // SAFETY: the caller vouches for LANES writable elements.
        unsafe { _mm512_storeu_ps(ptr, self.0) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, ptr: *mut f32, n: usize) {
        // SAFETY: lanes that are masked off are not accessed.
        unsafe { _mm512_mask_storeu_ps(ptr, first(n), self.0) }
    }
    methods! {
        fn lookup(self, next: Self, indices: Bits32) -> Self = Self(_mm512_permutex2var_ps(self.0, indices.0, next.0));
    }
    #[inline(always)]
    fn first(n: usize) -> Mask16 {
        Mask16(first(n))
    }
}

impl Neg for F64 {
    type Output = Self;
    methods! {
        fn neg(self) -> Self = Self(_mm512_xor_pd(self.0, _mm512_set1_pd(-0.0)));
    }
}

impl Float for F64 {
    type Mask = Mask8;
    type Bits = Bits64;
    type Wide = F64;
    const DOUBLE: bool = true;

    by_lanes!(fused: true);
    methods! {
        fn splat(value: f64) -> Self = Self(_mm512_set1_pd(value));
        fn mul_add(self, a: Self, b: Self) -> Self = Self(_mm512_fmadd_pd(self.0, a.0, b.0));
        fn abs(self) -> Self = Self(_mm512_abs_pd(self.0));
        fn sqrt(self) -> Self = Self(_mm512_sqrt_pd(self.0));
        fn floor(self) -> Self = Self(_mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn ceil(self) -> Self = Self(_mm512_roundscale_pd::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(self.0));
        fn trunc(self) -> Self = Self(_mm512_roundscale_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0));
        fn round_ties_even(self) -> Self = Self(_mm512_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0));
        // The instruction returns its second operand if either is NaN.
        fn min(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm512_min_pd(self.0, other.0)));
        // The instruction returns its second operand if either is NaN.
        fn max(self, other: Self) -> Self = Self::select(self.is_nan(), self, Self(_mm512_max_pd(self.0, other.0)));
        // The instructions return their second operand if either is NaN.
        fn clamp(self, low: Self, high: Self) -> Self = Self(_mm512_max_pd(low.0, _mm512_min_pd(high.0, self.0)));
        fn times_power(self, n: Self) -> Self = Self(_mm512_scalef_pd(self.0, n.0));
        fn lt(self, other: Self) -> Mask8 = Mask8(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0));
        fn le(self, other: Self) -> Mask8 = Mask8(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, other.0));
        fn eq(self, other: Self) -> Mask8 = Mask8(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, other.0));
        fn ne(self, other: Self) -> Mask8 = Mask8(_mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(self.0, other.0));
        fn select(mask: Mask8, a: Self, b: Self) -> Self = Self(_mm512_mask_blend_pd(mask.0, b.0, a.0));
        fn to_bits(self) -> Bits64 = Bits64(_mm512_castpd_si512(self.0));
        fn from_bits(bits: Bits64) -> Self = Self(_mm512_castsi512_pd(bits.0));
        fn to_int(self) -> Bits64 = Bits64(_mm512_cvtpd_epi64(self.0));
        fn from_int(int: Bits64) -> Self = Self(_mm512_cvtepi64_pd(int.0));
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
    const LANES: usize = 8;

    methods! {
        fn splat_elem(value: f64) -> Self = Self(_mm512_set1_pd(value));
    }
    #[inline(always)]
    unsafe fn load(ptr: *const f64) -> Self {
        // SAFETY: eight elements are readable at `ptr`, of any alignment; vectors exist only inside routines of this level.
        Self(unsafe { _mm512_loadu_pd(ptr) })
    }
    #[inline(always)]
    unsafe fn load_partial(ptr: *const f64, n: usize) -> Self {
        // SAFETY: lanes that are masked off are not accessed.
        Self(unsafe { _mm512_maskz_loadu_pd(first(n) as u8, ptr) })
    }
    #[inline(always)]
    unsafe fn store(self, ptr: *mut f64) {
        // SAFETY: the caller vouches for LANES writable elements.
        unsafe { _mm512_storeu_pd(ptr, self.0) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, ptr: *mut f64, n: usize) {
        // SAFETY: lanes that are masked off are not accessed.
        unsafe { _mm512_mask_storeu_pd(ptr, first(n) as u8, self.0) }
    }
    methods! {
        fn lookup(self, next: Self, indices: Bits64) -> Self = Self(_mm512_permutex2var_pd(self.0, indices.0, next.0));
    }
    #[inline(always)]
    fn first(n: usize) -> Mask8 {
        Mask8(first(n) as u8)
    }
}

#[inline(always)]
fn widen(v: F32) -> (F64, F64) {
    // SAFETY: vectors exist only where the processor has the instructions.
    unsafe {
        (F64(_mm512_cvtps_pd(_mm512_castps512_ps256(v.0))), F64(_mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(v.0))))
    }
}

#[inline(always)]
fn narrow(low: F64, high: F64) -> F32 {
    // SAFETY: vectors exist only where the processor has the instructions.
    F32(unsafe { _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtpd_ps(low.0)), _mm512_cvtpd_ps(high.0)) })
}
