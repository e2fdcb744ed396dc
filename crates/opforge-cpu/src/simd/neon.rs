//! 128-bit vectors of aarch64, where NEON is part of every processor.

use std::arch::aarch64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Bits, Float, Vector, VectorMask, by_lanes};

/// Calls NEON intrinsics that touch no memory.
macro_rules! neon {
    ($expr:expr) => {
        // SAFETY: every aarch64 processor that this is compiled for has NEON; the intrinsics work on registers only.
        unsafe { $expr }
    };
}

/// Implements binary operators by an intrinsic each.
macro_rules! operators {
    ($vector:ident: $($op:ident::$method:ident = $intrinsic:ident),*) => {
        $(impl $op for $vector {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(neon!($intrinsic(self.0, other.0)))
            }
        })*
    };
}

/// A vector of bits, and the mask with lanes of the same width.
macro_rules! bits {
    (
        $bits:ident, $mask:ident: $raw:ty, $lane:ty, $signed_lane:ty, $n:literal;
        $add:ident $sub:ident $and:ident $or:ident $xor:ident $splat:ident $splat_signed:ident $shift:ident $eq:ident $gt:ident
        $signed:ident $store:ident
    ) => {
        /// Integer lanes.
        #[derive(Clone, Copy)]
        pub struct $bits($raw);
        /// All ones or all zeros a lane.
        #[derive(Clone, Copy)]
        pub struct $mask($raw);

        operators!($bits: Add::add = $add, Sub::sub = $sub, BitAnd::bitand = $and, BitOr::bitor = $or, BitXor::bitxor = $xor);
        operators!($mask: BitAnd::bitand = $and, BitOr::bitor = $or, BitXor::bitxor = $xor);

        impl Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                $mask(neon!($xor(self.0, $splat(<$lane>::MAX))))
            }
        }
        impl VectorMask for $mask {
            #[inline(always)]
            fn bitmask(self) -> u32 {
                let mut lanes: [$lane; $n] = [0; $n];
                // SAFETY: the array holds a vector.
                unsafe { $store(lanes.as_mut_ptr(), self.0) };
                lanes.iter().enumerate().fold(0, |acc, (i, lane)| acc | (*lane as u32 & 1) << i)
            }
        }
        impl Shl<u32> for $bits {
            type Output = Self;
            #[inline(always)]
            fn shl(self, count: u32) -> Self {
                $bits(neon!($shift(self.0, $splat_signed(count as $signed_lane))))
            }
        }
        impl Shr<u32> for $bits {
            type Output = Self;
            #[inline(always)]
            fn shr(self, count: u32) -> Self {
                // There is only a shift to the left; to the right it is negative.
                $bits(neon!($shift(self.0, $splat_signed(-(count as $signed_lane)))))
            }
        }
        impl Bits for $bits {
            type Mask = $mask;
            #[inline(always)]
            fn splat(value: i64) -> Self {
                $bits(neon!($splat(value as $lane)))
            }
            #[inline(always)]
            fn eq(self, other: Self) -> $mask {
                $mask(neon!($eq(self.0, other.0)))
            }
            #[inline(always)]
            fn gt(self, other: Self) -> $mask {
                $mask(neon!($gt($signed(self.0), $signed(other.0))))
            }
        }
    };
}
bits!(
    B32, M32: uint32x4_t, u32, i32, 4;
    vaddq_u32 vsubq_u32 vandq_u32 vorrq_u32 veorq_u32 vdupq_n_u32 vdupq_n_s32 vshlq_u32 vceqq_u32 vcgtq_s32
    vreinterpretq_s32_u32 vst1q_u32
);
bits!(
    B64, M64: uint64x2_t, u64, i64, 2;
    vaddq_u64 vsubq_u64 vandq_u64 vorrq_u64 veorq_u64 vdupq_n_u64 vdupq_n_s64 vshlq_u64 vceqq_u64 vcgtq_s64
    vreinterpretq_s64_u64 vst1q_u64
);

/// A vector of floats.
macro_rules! float {
    (
        $vector:ident: $raw:ty, $elem:ty, $lane:ty, $n:literal, $bits:ident, $mask:ident;
        $add:ident $sub:ident $mul:ident $div:ident $neg:ident $fma:ident $abs:ident $sqrt:ident
        $floor:ident $ceil:ident $trunc:ident $round:ident $min:ident $max:ident $lt:ident $le:ident $eq:ident
        $select:ident $splat:ident $load:ident $store:ident $load_lanes:ident
        $to_bits:ident $from_bits:ident $to_int:ident $int_bits:ident $from_int:ident $bits_int:ident;
        { $($wide:tt)* }
    ) => {
        /// Float lanes.
        #[derive(Clone, Copy)]
        pub struct $vector($raw);

        operators!($vector: Add::add = $add, Sub::sub = $sub, Mul::mul = $mul, Div::div = $div);

        impl Neg for $vector {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                $vector(neon!($neg(self.0)))
            }
        }

        impl Float for $vector {
            type Mask = $mask;
            type Bits = $bits;
            type Wide = F64;
            const DOUBLE: bool = size_of::<$elem>() == 8;

            by_lanes!(fused: true);
            #[inline(always)]
            fn splat(value: f64) -> Self {
                Self::splat_elem(value as $elem)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $vector(neon!($fma(b.0, self.0, a.0)))
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $vector(neon!($abs(self.0)))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $vector(neon!($sqrt(self.0)))
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $vector(neon!($floor(self.0)))
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $vector(neon!($ceil(self.0)))
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $vector(neon!($trunc(self.0)))
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $vector(neon!($round(self.0)))
            }
            // FMIN and FMAX give NaN if either is NaN.
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                $vector(neon!($min(self.0, other.0)))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                $vector(neon!($max(self.0, other.0)))
            }
            #[inline(always)]
            fn lt(self, other: Self) -> $mask {
                $mask(neon!($lt(self.0, other.0)))
            }
            #[inline(always)]
            fn le(self, other: Self) -> $mask {
                $mask(neon!($le(self.0, other.0)))
            }
            #[inline(always)]
            fn eq(self, other: Self) -> $mask {
                $mask(neon!($eq(self.0, other.0)))
            }
            #[inline(always)]
            fn ne(self, other: Self) -> $mask {
                !self.eq(other)
            }
            #[inline(always)]
            fn select(mask: $mask, a: Self, b: Self) -> Self {
                $vector(neon!($select(mask.0, a.0, b.0)))
            }
            #[inline(always)]
            fn to_bits(self) -> $bits {
                $bits(neon!($to_bits(self.0)))
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                $vector(neon!($from_bits(bits.0)))
            }
            #[inline(always)]
            fn to_int(self) -> $bits {
                $bits(neon!($int_bits($to_int(self.0))))
            }
            #[inline(always)]
            fn from_int(int: $bits) -> Self {
                $vector(neon!($from_int($bits_int(int.0))))
            }
            $($wide)*
        }

        impl Vector for $vector {
            type Elem = $elem;
            const LANES: usize = $n;

            #[inline(always)]
            fn splat_elem(value: $elem) -> Self {
                $vector(neon!($splat(value)))
            }
            #[inline(always)]
            unsafe fn load(ptr: *const $elem) -> Self {
                // SAFETY: `LANES` elements are readable at `ptr`; the load asks for no more than the element's alignment.
                $vector(unsafe { $load(ptr) })
            }
            #[inline(always)]
            unsafe fn load_partial(ptr: *const $elem, n: usize) -> Self {
                let mut lanes: [$elem; $n] = [0.0; $n];
                for (i, lane) in lanes.iter_mut().enumerate() {
                    if i < n {
                        // SAFETY: only elements below n are read.
                        *lane = unsafe { ptr.add(i).read() };
                    }
                }
                // SAFETY: the array holds a vector.
                $vector(unsafe { $load(lanes.as_ptr()) })
            }
            #[inline(always)]
            unsafe fn store(self, ptr: *mut $elem) {
                // SAFETY: the caller vouches for LANES writable elements.
                unsafe { $store(ptr, self.0) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, ptr: *mut $elem, n: usize) {
                let mut lanes: [$elem; $n] = [0.0; $n];
                // SAFETY: the array holds a vector.
                unsafe { $store(lanes.as_mut_ptr(), self.0) };
                for (i, lane) in lanes.into_iter().enumerate() {
                    if i < n {
                        // SAFETY: only elements below n are written.
                        unsafe { ptr.add(i).write(lane) };
                    }
                }
            }
            #[inline(always)]
            fn first(n: usize) -> $mask {
                let mut lanes: [$lane; $n] = [0; $n];
                lanes.iter_mut().take(n).for_each(|lane| *lane = <$lane>::MAX);
                // SAFETY: the array holds a vector.
                $mask(unsafe { $load_lanes(lanes.as_ptr()) })
            }
        }
    };
}
float!(
    F32: float32x4_t, f32, u32, 4, B32, M32;
    vaddq_f32 vsubq_f32 vmulq_f32 vdivq_f32 vnegq_f32 vfmaq_f32 vabsq_f32 vsqrtq_f32
    vrndmq_f32 vrndpq_f32 vrndq_f32 vrndnq_f32 vminq_f32 vmaxq_f32 vcltq_f32 vcleq_f32 vceqq_f32
    vbslq_f32 vdupq_n_f32 vld1q_f32 vst1q_f32 vld1q_u32
    vreinterpretq_u32_f32 vreinterpretq_f32_u32 vcvtnq_s32_f32 vreinterpretq_u32_s32 vcvtq_f32_s32 vreinterpretq_s32_u32;
    {
        #[inline(always)]
        fn via_f64(self, f: impl Fn(F64) -> F64) -> Self {
            let (low, high) = self.halves();
            Self::join(f(low), f(high))
        }
        #[inline(always)]
        fn via_f64_2(self, other: Self, f: impl Fn(F64, F64) -> F64) -> Self {
            let ((a, b), (p, q)) = (self.halves(), other.halves());
            Self::join(f(a, p), f(b, q))
        }
    }
);
float!(
    F64: float64x2_t, f64, u64, 2, B64, M64;
    vaddq_f64 vsubq_f64 vmulq_f64 vdivq_f64 vnegq_f64 vfmaq_f64 vabsq_f64 vsqrtq_f64
    vrndmq_f64 vrndpq_f64 vrndq_f64 vrndnq_f64 vminq_f64 vmaxq_f64 vcltq_f64 vcleq_f64 vceqq_f64
    vbslq_f64 vdupq_n_f64 vld1q_f64 vst1q_f64 vld1q_u64
    vreinterpretq_u64_f64 vreinterpretq_f64_u64 vcvtnq_s64_f64 vreinterpretq_u64_s64 vcvtq_f64_s64 vreinterpretq_s64_u64;
    {
        #[inline(always)]
        fn via_f64(self, f: impl Fn(F64) -> F64) -> Self {
            f(self)
        }
        #[inline(always)]
        fn via_f64_2(self, other: Self, f: impl Fn(F64, F64) -> F64) -> Self {
            f(self, other)
        }
    }
);

impl F32 {
    /// The lower and the upper lanes, widened.
    #[inline(always)]
    fn halves(self) -> (F64, F64) {
        (F64(neon!(vcvt_f64_f32(vget_low_f32(self.0)))), F64(neon!(vcvt_high_f64_f32(self.0))))
    }
    /// What [`F32::halves`] took apart, rounded.
    #[inline(always)]
    fn join(low: F64, high: F64) -> Self {
        F32(neon!(vcvt_high_f32_f64(vcvt_f32_f64(low.0), high.0)))
    }
}
