//! Floating-point numbers of eight bits: [`F8E4M3`] and [`F8E5M2`], as Micikevicius et al. define them
//! ("FP8 formats for deep learning", 2022, arXiv:2209.05433).
//!
//! Arithmetic on single numbers goes by way of f32; tensors of them are only stored and converted.
//!
//! So [`DType::is_float`](crate::DType::is_float) is false of them: kernels refuse them unless they move bytes whatever these mean, as operators
//! declared for all dtypes do. Casts and equality go through f32, and promotion has no answer for them.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

/// How a format's numbers are laid out in seven bits below the sign.
#[derive(Clone, Copy)]
struct Format {
    /// Bits of the fraction.
    fraction: u32,
    /// What is added to exponents.
    bias: u32,
    /// The code of infinity, if there is one; NaN otherwise.
    overflow: u32,
    /// The code of the NaN that is written.
    nan: u32,
}

const E4M3: Format = Format { fraction: 3, bias: 7, overflow: 0x7f, nan: 0x7f };
const E5M2: Format = Format { fraction: 2, bias: 15, overflow: 0x7c, nan: 0x7f };

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;

impl Format {
    /// The f32 of a code, which is exact. No branches, so that loops vectorise.
    #[inline(always)]
    const fn decode(self, code: u8) -> f32 {
        let (sign, code) = ((code as u32 & 0x80) << 24, code as u32 & 0x7f);
        let normal = (code << (23 - self.fraction)) + ((127 - self.bias) << 23);
        let least = f32::from_bits((128 - self.bias - self.fraction) << 23);
        let subnormal = (code as i32 as f32 * least).to_bits();
        let bits = if code < 1 << self.fraction { subnormal } else { normal };
        let beyond = if self.overflow != self.nan && code == self.overflow { INFINITY } else { INFINITY | 1 << 22 };
        f32::from_bits(sign | if code < self.overflow { bits } else { beyond })
    }

    /// The code of the nearest number, the even one of two that are equally near. No branches, so that loops vectorise.
    #[inline(always)]
    const fn encode(self, x: f32) -> u8 {
        let sign = x.to_bits() & SIGN;
        let bits = x.to_bits() ^ sign;
        let shift = 23 - self.fraction;
        // What begins below the first bit that is kept is rounded off; the carry may go into the exponent.
        let odd = bits >> shift & 1;
        let offset = ((1u32 << (shift - 1)) - 1).wrapping_sub((127 - self.bias) << 23);
        let normal = bits.wrapping_add(offset).wrapping_add(odd) >> shift;
        // The last bit of this number is the least subnormal one: the sum is rounded to a multiple of it.
        let ruler = (151 - self.bias - self.fraction) << 23;
        let subnormal = (f32::from_bits(bits) + f32::from_bits(ruler)).to_bits().wrapping_sub(ruler);
        let code = if bits < (128 - self.bias) << 23 { subnormal } else { normal };
        let code = if code < self.overflow { code } else { self.overflow };
        let code = if bits > INFINITY { self.nan } else { code };
        (sign >> 24 | code) as u8
    }
}

macro_rules! operator {
    ($ty:ty: $($op:ident $f:ident $assign:ident $g:ident),*) => {
        $(impl $op for $ty {
            type Output = Self;
            fn $f(self, rhs: Self) -> Self {
                Self::from_f32($op::$f(self.to_f32(), rhs.to_f32()))
            }
        }
        impl $assign for $ty {
            fn $g(&mut self, rhs: Self) {
                *self = $op::$f(*self, rhs);
            }
        })*
    };
}

macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, $format:ident, max = $max:literal, epsilon = $epsilon:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The largest finite number.
            pub const MAX: Self = Self($max);
            /// The smallest positive number of full precision.
            pub const MIN_POSITIVE: Self = Self(1 << $format.fraction);
            /// The distance from 1 to the next number.
            pub const EPSILON: Self = Self($epsilon);

            /// The number with this code.
            pub const fn from_bits(code: u8) -> Self {
                Self(code)
            }

            /// The number's code.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, the even one of two that are equally near.
            #[inline(always)]
            pub const fn from_f32(x: f32) -> Self {
                Self($format.encode(x))
            }

            /// As [`Self::from_f32`] of the nearest f32.
            pub const fn from_f64(x: f64) -> Self {
                Self::from_f32(x as f32)
            }

            /// The number, exactly.
            #[inline(always)]
            pub const fn to_f32(self) -> f32 {
                $format.decode(self.0)
            }

            /// The number, exactly.
            pub const fn to_f64(self) -> f64 {
                self.to_f32() as f64
            }

            /// Whether this is not a number.
            pub const fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl From<$name> for f32 {
            fn from(x: $name) -> Self {
                x.to_f32()
            }
        }
        impl From<$name> for f64 {
            fn from(x: $name) -> Self {
                x.to_f64()
            }
        }

        operator!($name: Add add AddAssign add_assign, Sub sub SubAssign sub_assign, Mul mul MulAssign mul_assign,
            Div div DivAssign div_assign, Rem rem RemAssign rem_assign);
        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(self.0 ^ 0x80)
            }
        }
        impl num_traits::Zero for $name {
            fn zero() -> Self {
                Self(0)
            }
            fn is_zero(&self) -> bool {
                self.0 & 0x7f == 0
            }
        }
        impl num_traits::One for $name {
            fn one() -> Self {
                Self(($format.bias << $format.fraction) as u8)
            }
        }
        impl num_traits::Num for $name {
            type FromStrRadixErr = <f32 as num_traits::Num>::FromStrRadixErr;
            fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
                f32::from_str_radix(text, radix).map(Self::from_f32)
            }
        }
    };
}

float8!(
    /// A sign, four bits of exponent and three of fraction: up to 448, with NaN and without infinities. What is nearer to 480 than to 448 is NaN, as
    /// infinities are.
    F8E4M3,
    E4M3,
    max = 0x7e,
    epsilon = 0x20
);
float8!(
    /// A sign, five bits of exponent and two of fraction, the upper half of an f16: up to 57344, with NaN and infinities.
    F8E5M2,
    E5M2,
    max = 0x7b,
    epsilon = 0x34
);
