//! What a tile function of floats may do with its elements.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use crate::{Intrinsic, Of1, Of2};

/// A truth value an element.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}
impl<T> Mask for T where T: Copy + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T> + Not<Output = T> {}

/// Integers as wide as floats, for work on exponents and mantissas. Addition and subtraction wrap; `>>` is logical.
pub trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The mask of comparisons.
    type Mask: Mask;
    /// The value's low bits.
    fn splat(value: i64) -> Self;
    /// Where they are equal.
    fn eq(self, other: Self) -> Self::Mask;
    /// Signed comparison.
    fn gt(self, other: Self) -> Self::Mask;
}

/// Floats: a vector of them, or a symbol for one.
///
/// Operators, `sqrt` and rounding are IEEE's; comparisons with NaN are false, except [`ne`](Float::ne). No element's result depends on
/// another element.
pub trait Float:
    Copy + 'static + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// What comparisons give.
    type Mask: Mask;
    /// Integers of the same width.
    type Bits: Bits<Mask = Self::Mask>;
    /// The same in f64; of f64, itself.
    type Wide: Float;
    /// Whether elements are f64, not f32.
    const DOUBLE: bool;
    /// Whether [`mul_add`](Float::mul_add) rounds once.
    fn fused() -> bool;

    /// Whether the machine itself has powers of two and quotients, within 2 units in the last place: f32 of GPUs.
    fn approximates() -> bool {
        false
    }

    /// The number, rounded to the elements' type.
    fn splat(value: f64) -> Self;

    /// `self * a + b`, rounded once where [`fused`](Float::fused).
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The magnitude; clears NaN's sign too.
    fn abs(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// Rounds down.
    fn floor(self) -> Self;
    /// Rounds up.
    fn ceil(self) -> Self;
    /// Rounds towards zero.
    fn trunc(self) -> Self;
    /// Rounds to the nearest integer, halves to even.
    fn round_ties_even(self) -> Self;
    /// The lesser; NaN if either is NaN.
    fn min(self, other: Self) -> Self;
    /// The greater; NaN if either is NaN.
    fn max(self, other: Self) -> Self;

    /// Limits to a range; NaN stays.
    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        let x = Self::select(self.gt(high), high, self);
        Self::select(x.lt(low), low, x)
    }
    /// `self * 2^n`, for integers `n` of magnitude up to 2000.
    #[inline(always)]
    fn times_power(self, n: Self) -> Self {
        let (a, b, _) = n.powers();
        self * a * b
    }
    /// Of integers n of magnitude up to 2000: the factors `2^(n/2)` and `2^(n - n/2)`, neither of which overflows or is subnormal where `2^n`
    /// would be, and the inverse of the second.
    #[inline(always)]
    fn powers(self) -> (Self, Self, Self) {
        let (mantissa, bias) = if Self::DOUBLE { (52, 1023) } else { (23, 127) };
        let double_bias = Self::Bits::splat(2 * bias);
        let biased = self.to_int() + double_bias; // Positive, so that the logical shift halves it.
        let half = biased >> 1;
        let other = biased - half;
        let power = |exponent: Self::Bits| Self::from_bits(exponent << mantissa);
        (power(half), power(other), power(double_bias - other))
    }

    /// `2^self`: the machine's, where it [approximates](Float::approximates), else that of a function, which must be `#[inline(always)]`.
    #[inline(always)]
    fn exp2_or(self, exp2: impl FnOnce(Self) -> Self) -> Self {
        exp2(self)
    }
    /// A quotient that the machine may [approximate](Float::approximates), as 0 where the divisor's magnitude is above `2^126`.
    #[inline(always)]
    fn over(self, divisor: Self) -> Self {
        self / divisor
    }

    /// Where `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// Where `self <= other`.
    fn le(self, other: Self) -> Self::Mask;
    /// Where `self == other`.
    fn eq(self, other: Self) -> Self::Mask;
    /// Where `self != other`, NaN included.
    fn ne(self, other: Self) -> Self::Mask;
    /// Where `self > other`.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// Where `self >= other`.
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }
    /// Where it is NaN.
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        self.ne(self)
    }
    /// `a` where the mask is true, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// `rare()` where the mask is true, else `common`: as [`select`](Float::select), with little expected of the mask, so that vectors look
    /// before they compute what is rare. The closure must be `#[inline(always)]`, as that of [`via_f64`](Float::via_f64).
    fn select_rarely(mask: Self::Mask, rare: impl FnOnce() -> Self, common: Self) -> Self;

    /// The bit patterns.
    fn to_bits(self) -> Self::Bits;
    /// The floats with these bit patterns.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The nearest integers, halves to even. Exact for magnitudes up to 2^22 (f32) and 2^51 (f64); any value beyond them and for NaN.
    fn to_int(self) -> Self::Bits;
    /// The integers as floats. Exact for magnitudes up to 2^22 (f32) and 2^51 (f64); any value beyond them.
    fn from_int(int: Self::Bits) -> Self;

    /// Computes in f64 and rounds the result. The closure must be `#[inline(always)]`: one that is not lacks the vectors' instructions, and each
    /// of its operations becomes a call.
    fn via_f64(self, f: impl Fn(Self::Wide) -> Self::Wide) -> Self;
    /// As [`Float::via_f64`], of two operands.
    fn via_f64_2(self, other: Self, f: impl Fn(Self::Wide, Self::Wide) -> Self::Wide) -> Self;

    /// A function of each element, computed in f64 and rounded.
    fn call(self, function: Intrinsic<Of1>) -> Self;
    /// A function of each pair of elements, computed in f64 and rounded.
    fn call_2(self, other: Self, function: Intrinsic<Of2>) -> Self;

    /// The magnitude of `self` with the sign of `sign`.
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        let sign_bit = Self::splat(-0.0).to_bits();
        Self::from_bits(self.abs().to_bits() | (sign.to_bits() & sign_bit))
    }
}
