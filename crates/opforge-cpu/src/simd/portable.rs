//! Vectors as arrays of lanes, which the compiler turns into whatever the target guarantees, SSE2 on x86-64.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Bits, Float, FloatElem, Vector, VectorMask, by_lanes};

/// All ones or all zeros a lane.
#[derive(Clone, Copy)]
pub struct Lanes<T, const N: usize>([T; N]);

pub type F32 = Lanes<f32, 4>;
pub type F64 = Lanes<f64, 2>;

/// A vector of an expression of the lane's index, written out: a loop that the compiler unrolls costs it most of the time that portable kernels take
/// to compile, and there are very many uses.
macro_rules! lanes {
    (2, $i:ident => $expr:expr) => { lanes!(@ $i => $expr; 0 1) };
    (4, $i:ident => $expr:expr) => { lanes!(@ $i => $expr; 0 1 2 3) };
    (@ $i:ident => $expr:expr; $($lane:literal)*) => {
        Lanes([$({
            let $i = $lane;
            $expr
        }),*])
    };
}

macro_rules! lanewise {
    ($ty:ty, $n:tt; $($op:ident::$method:ident = |$a:ident, $b:ident| $expr:expr),* $(,)?) => {
        $(impl $op for Lanes<$ty, $n> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                lanes!($n, i => { let ($a, $b) = (self.0[i], other.0[i]); $expr })
            }
        })*
    };
}

/// A vector of bits, and the mask with lanes of the same width.
macro_rules! bits {
    ($ty:ty, $mask:ty, $n:tt) => {
        lanewise!($ty, $n; Add::add = |a, b| a.wrapping_add(b), Sub::sub = |a, b| a.wrapping_sub(b),
            BitAnd::bitand = |a, b| a & b, BitOr::bitor = |a, b| a | b, BitXor::bitxor = |a, b| a ^ b);
        lanewise!($mask, $n; BitAnd::bitand = |a, b| a & b, BitOr::bitor = |a, b| a | b, BitXor::bitxor = |a, b| a ^ b);

        impl Not for Lanes<$mask, $n> {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                lanes!($n, i => !self.0[i])
            }
        }
        impl Shl<u32> for Lanes<$ty, $n> {
            type Output = Self;
            #[inline(always)]
            fn shl(self, count: u32) -> Self {
                lanes!($n, i => self.0[i].wrapping_shl(count))
            }
        }
        impl Shr<u32> for Lanes<$ty, $n> {
            type Output = Self;
            #[inline(always)]
            fn shr(self, count: u32) -> Self {
                lanes!($n, i => self.0[i].wrapping_shr(count))
            }
        }
        impl Bits for Lanes<$ty, $n> {
            type Mask = Lanes<$mask, $n>;
            #[inline(always)]
            fn splat(value: i64) -> Self {
                lanes!($n, _i => value as $ty)
            }
            #[inline(always)]
            fn eq(self, other: Self) -> Self::Mask {
                lanes!($n, i => -<$mask>::from(self.0[i] == other.0[i]))
            }
            #[inline(always)]
            fn gt(self, other: Self) -> Self::Mask {
                lanes!($n, i => -<$mask>::from((self.0[i] as $mask) > other.0[i] as $mask))
            }
        }
    };
}
bits!(u32, i32, 4);
bits!(u64, i64, 2);

impl VectorMask for Lanes<i32, 4> {
    #[inline(always)]
    fn bitmask(self) -> u32 {
        let [a, b, c, d] = self.0;
        (a & 1 | b & 2 | c & 4 | d & 8) as u32
    }
}
impl VectorMask for Lanes<i64, 2> {
    #[inline(always)]
    fn bitmask(self) -> u32 {
        let [a, b] = self.0;
        (a & 1 | b & 2) as u32
    }
}

macro_rules! float {
    ($ty:ty, $bits:ty, $mask:ty, $n:tt, $magic:expr, { $($wide:tt)* }) => {
        lanewise!($ty, $n; Add::add = |a, b| a + b, Sub::sub = |a, b| a - b, Mul::mul = |a, b| a * b, Div::div = |a, b| a / b);

        impl Neg for Lanes<$ty, $n> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                lanes!($n, i => -self.0[i])
            }
        }

        impl Float for Lanes<$ty, $n> {
            type Mask = Lanes<$mask, $n>;
            type Bits = Lanes<$bits, $n>;
            type Wide = F64;
            const DOUBLE: bool = size_of::<$ty>() == 8;

            by_lanes!(fused: false);
            #[inline(always)]
            fn splat(value: f64) -> Self {
                lanes!($n, _i => value as $ty)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // Not all targets have the instruction, and without it f32::mul_add is a slow library call.
                self * a + b
            }
            #[inline(always)]
            fn abs(self) -> Self {
                lanes!($n, i => <$ty>::abs(self.0[i]))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                lanes!($n, i => <$ty>::sqrt(self.0[i]))
            }
            #[inline(always)]
            fn floor(self) -> Self {
                lanes!($n, i => <$ty>::floor(self.0[i]))
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                lanes!($n, i => <$ty>::ceil(self.0[i]))
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                lanes!($n, i => <$ty>::trunc(self.0[i]))
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                lanes!($n, i => <$ty>::round_ties_even(self.0[i]))
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                lanes!($n, i => FloatElem::minimum(self.0[i], other.0[i]))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                lanes!($n, i => FloatElem::maximum(self.0[i], other.0[i]))
            }
            #[inline(always)]
            fn lt(self, other: Self) -> Self::Mask {
                lanes!($n, i => -<$mask>::from(self.0[i] < other.0[i]))
            }
            #[inline(always)]
            fn le(self, other: Self) -> Self::Mask {
                lanes!($n, i => -<$mask>::from(self.0[i] <= other.0[i]))
            }
            #[inline(always)]
            fn eq(self, other: Self) -> Self::Mask {
                lanes!($n, i => -<$mask>::from(self.0[i] == other.0[i]))
            }
            #[inline(always)]
            fn ne(self, other: Self) -> Self::Mask {
                lanes!($n, i => -<$mask>::from(self.0[i] != other.0[i]))
            }
            #[inline(always)]
            fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
                lanes!($n, i => {
                    let mask = mask.0[i] as $bits;
                    <$ty>::from_bits(a.0[i].to_bits() & mask | b.0[i].to_bits() & !mask)
                })
            }
            #[inline(always)]
            fn to_bits(self) -> Self::Bits {
                lanes!($n, i => <$ty>::to_bits(self.0[i]))
            }
            #[inline(always)]
            fn from_bits(bits: Self::Bits) -> Self {
                lanes!($n, i => <$ty>::from_bits(bits.0[i]))
            }
            #[inline(always)]
            fn to_int(self) -> Self::Bits {
                // Adding 1.5 * 2^(mantissa bits) leaves the rounded integer in the low bits.
                let magic: $ty = $magic;
                lanes!($n, i => (self.0[i] + magic).to_bits().wrapping_sub(magic.to_bits()))
            }
            #[inline(always)]
            fn from_int(int: Self::Bits) -> Self {
                let magic: $ty = $magic;
                lanes!($n, i => <$ty>::from_bits(int.0[i].wrapping_add(magic.to_bits())) - magic)
            }
            $($wide)*
        }

        impl Vector for Lanes<$ty, $n> {
            type Elem = $ty;
            const LANES: usize = $n;

            #[inline(always)]
            fn splat_elem(value: $ty) -> Self {
                lanes!($n, _i => value)
            }
            #[inline(always)]
            unsafe fn load(ptr: *const $ty) -> Self {
                // SAFETY: `ptr` has `$n` elements; read_unaligned asks for no more than the element's alignment.
                Lanes(unsafe { ptr.cast::<[$ty; $n]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_partial(ptr: *const $ty, n: usize) -> Self {
                // SAFETY: only lanes below n are read.
                lanes!($n, i => if i < n { unsafe { ptr.add(i).read() } } else { 0.0 })
            }
            #[inline(always)]
            unsafe fn store(self, ptr: *mut $ty) {
                // SAFETY: the caller vouches for LANES writable elements; write_unaligned asks for no more than their alignment.
                unsafe { ptr.cast::<[$ty; $n]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, ptr: *mut $ty, n: usize) {
                // SAFETY: only lanes below n are written.
                let Lanes(_) = lanes!($n, i => if i < n { unsafe { ptr.add(i).write(self.0[i]) } });
            }
            #[inline(always)]
            fn first(n: usize) -> Self::Mask {
                lanes!($n, i => -<$mask>::from(i < n))
            }
            #[inline(always)]
            fn numbers() -> Self::Bits {
                lanes!($n, i => i)
            }
            #[inline(always)]
            fn lookup(self, next: Self, indices: Self::Bits) -> Self {
                lanes!($n, i => {
                    let index = indices.0[i] as usize;
                    if index < $n { self.0[index % $n] } else { next.0[index % $n] }
                })
            }
            #[inline(always)]
            fn map_lanes(self, f: impl Fn($ty) -> $ty) -> Self {
                lanes!($n, i => f(self.0[i]))
            }
            #[inline(always)]
            fn zip_lanes(self, other: Self, f: impl Fn($ty, $ty) -> $ty) -> Self {
                lanes!($n, i => f(self.0[i], other.0[i]))
            }
            #[inline(always)]
            fn partners(self, distance: usize) -> Self {
                lanes!($n, i => self.0[(i ^ distance) % $n])
            }
            #[inline(always)]
            fn first_lane(self) -> $ty {
                self.0[0]
            }
        }
    };
}
float!(f32, u32, i32, 4, 12582912.0, {
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
});
float!(f64, u64, i64, 2, 6755399441055744.0, {
    #[inline(always)]
    fn via_f64(self, f: impl Fn(F64) -> F64) -> Self {
        f(self)
    }
    #[inline(always)]
    fn via_f64_2(self, other: Self, f: impl Fn(F64, F64) -> F64) -> Self {
        f(self, other)
    }
});

impl F32 {
    /// The lower and the upper lanes, widened.
    #[inline(always)]
    fn halves(self) -> (F64, F64) {
        let [a, b, c, d] = self.0;
        (Lanes([a.into(), b.into()]), Lanes([c.into(), d.into()]))
    }
    /// What [`F32::halves`] took apart, rounded.
    #[inline(always)]
    fn join(Lanes([a, b]): F64, Lanes([c, d]): F64) -> Self {
        Lanes([a as f32, b as f32, c as f32, d as f32])
    }
}
