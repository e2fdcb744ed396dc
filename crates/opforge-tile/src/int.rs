//! What a tile function of integers may do with its elements.

use crate::Mask;

/// Integers, with the arithmetic of PyTorch: results wrap. An integer of Rust, or a symbol for one.
///
/// Plain loops over Rust's integers vectorise; their masks are `bool`.
pub trait Int: Copy + 'static {
    /// What comparisons give.
    type Mask: Mask;
    /// The low bits of the integer.
    fn from_i64(v: i64) -> Self;
    /// The least value of the type.
    fn least() -> Self;
    /// The greatest value of the type.
    fn greatest() -> Self;
    /// A mask that is the same for every element.
    fn truth(value: bool) -> Self::Mask;

    /// Where `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// Where `self == other`.
    fn eq(self, other: Self) -> Self::Mask;
    /// Where `self != other`.
    #[inline(always)]
    fn ne(self, other: Self) -> Self::Mask {
        !self.eq(other)
    }
    /// Where `self > other`.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// Where `self <= other`.
    #[inline(always)]
    fn le(self, other: Self) -> Self::Mask {
        !other.lt(self)
    }
    /// Where `self >= other`.
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        !self.lt(other)
    }
    /// `a` where the mask is true, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// The lesser.
    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        Self::select(other.lt(self), other, self)
    }
    /// The greater.
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        Self::select(self.lt(other), other, self)
    }

    /// The sum, wrapped.
    fn wrapping_add(self, other: Self) -> Self;
    /// The difference, wrapped.
    fn wrapping_sub(self, other: Self) -> Self;
    /// The product, wrapped.
    fn wrapping_mul(self, other: Self) -> Self;
    /// The negation, wrapped.
    #[inline(always)]
    fn wrapping_neg(self) -> Self {
        Self::from_i64(0).wrapping_sub(self)
    }
    /// The magnitude; the least value of a signed type stays.
    #[inline(always)]
    fn wrapping_abs(self) -> Self {
        Self::select(self.lt(Self::from_i64(0)), self.wrapping_neg(), self)
    }
    /// The power by squaring, wrapped. The exponent counts without a sign: callers refuse negative ones.
    fn wrapping_pow(self, exponent: Self) -> Self;
    /// -1, 0 or 1.
    #[inline(always)]
    fn signum(self) -> Self {
        let (zero, one, minus_one) = (Self::from_i64(0), Self::from_i64(1), Self::from_i64(-1));
        Self::select(self.gt(zero), one, Self::select(self.lt(zero), minus_one, zero))
    }
    /// Division rounded towards zero; wraps for the least value by -1, and gives 0 for a divisor of 0, which the caller reports.
    fn div_trunc(self, divisor: Self) -> Self;
    /// What [`div_trunc`](Int::div_trunc) leaves: has the dividend's sign. 0 for a divisor of 0.
    fn rem_trunc(self, divisor: Self) -> Self;
    /// Division rounded down; wraps for the least value by -1, and gives 0 for a divisor of 0, which the caller reports.
    #[inline(always)]
    fn div_floor(self, divisor: Self) -> Self {
        let (zero, q, r) = (Self::from_i64(0), self.div_trunc(divisor), self.rem_trunc(divisor));
        Self::select(r.ne(zero) & (r.lt(zero) ^ divisor.lt(zero)), q.wrapping_sub(Self::from_i64(1)), q)
    }
    /// What [`div_floor`](Int::div_floor) leaves: has the divisor's sign. 0 for a divisor of 0.
    #[inline(always)]
    fn rem_floor(self, divisor: Self) -> Self {
        let (zero, r) = (Self::from_i64(0), self.rem_trunc(divisor));
        Self::select(r.ne(zero) & (r.lt(zero) ^ divisor.lt(zero)), r.wrapping_add(divisor), r)
    }
    /// The greatest common divisor; of 0 and 0 it is 0.
    fn gcd(self, other: Self) -> Self;

    /// The bits of both.
    fn bit_and(self, other: Self) -> Self;
    /// The bits of either.
    fn bit_or(self, other: Self) -> Self;
    /// The bits of one but not both.
    fn bit_xor(self, other: Self) -> Self;
    /// The opposite bits.
    fn bit_not(self) -> Self;
    /// Shifted to the left; 0 for counts that are negative or not less than the width.
    fn shift_left(self, count: Self) -> Self;
    /// Shifted to the right, arithmetically if signed; counts that are negative or not less than the width leave the sign only.
    fn shift_right(self, count: Self) -> Self;
}

/// Division by the processor's instruction for integers, one at a time.
macro_rules! by_integers {
    ($ty:ty, $signed:ty) => {
        #[inline(always)]
        fn div_trunc(self, divisor: Self) -> Self {
            if divisor == 0 { 0 } else { self.wrapping_div(divisor) }
        }
        #[inline(always)]
        fn rem_trunc(self, divisor: Self) -> Self {
            if divisor == 0 { 0 } else { self.wrapping_rem(divisor) }
        }
    };
}

/// Division by way of floats that hold the integers exactly, which loops vectorise: their quotient, rounded to the nearest integer, and what it leaves, at most
/// half the divisor, show the quotient. Adding 1.5 * 2^(mantissa bits) leaves the rounded integer in the low bits.
macro_rules! by_floats {
    ($ty:ty, $float:ty, $magic:literal, $signed:ty) => {
        #[inline(always)]
        fn div_trunc(self, divisor: Self) -> Self {
            let sum = self as $float / divisor as $float + $magic;
            let nearest = sum.to_bits().wrapping_sub(<$float>::to_bits($magic)) as $ty;
            let left = self.wrapping_sub(nearest.wrapping_mul(divisor)) as $signed;
            let signs = [left < 0, Int::lt(self, 0), Int::lt(divisor, 0)];
            let beyond = left != 0 && signs[0] != signs[1];
            let step: $ty = if signs[1] == signs[2] { 1 } else { (0 as $ty).wrapping_sub(1) };
            let quotient = if beyond { nearest.wrapping_sub(step) } else { nearest };
            if divisor == 0 { 0 } else { quotient }
        }
        #[inline(always)]
        fn rem_trunc(self, divisor: Self) -> Self {
            let left = self.wrapping_sub(self.div_trunc(divisor).wrapping_mul(divisor));
            if divisor == 0 { 0 } else { left }
        }
    };
}
macro_rules! by_f32 {
    ($ty:ty, $signed:ty) => {
        by_floats!($ty, f32, 12582912.0, $signed);
    };
}
macro_rules! by_f64 {
    ($ty:ty, $signed:ty) => {
        by_floats!($ty, f64, 6755399441055744.0, $signed);
    };
}

macro_rules! int {
    ($($ty:ty, $signed:ty: $division:ident;)*) => {
        $(impl Int for $ty {
            type Mask = bool;
            #[inline(always)]
            fn from_i64(v: i64) -> Self { v as $ty }
            #[inline(always)]
            fn least() -> Self { <$ty>::MIN }
            #[inline(always)]
            fn greatest() -> Self { <$ty>::MAX }
            #[inline(always)]
            fn truth(value: bool) -> bool { value }
            #[inline(always)]
            fn lt(self, other: Self) -> bool { self < other }
            #[inline(always)]
            fn eq(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn select(mask: bool, a: Self, b: Self) -> Self { if mask { a } else { b } }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            // By shifts, which vectors of every level have.
            #[inline(always)]
            fn signum(self) -> Self {
                if Self::MIN == 0 {
                    return (self != 0).into();
                }
                let sign = Self::BITS - 1;
                self >> sign | (Int::wrapping_neg(self) >> sign).wrapping_neg()
            }
            #[inline(always)]
            fn wrapping_pow(self, exponent: Self) -> Self {
                let (mut power, mut square, mut left): (Self, Self, u64) = (1, self, exponent as u64);
                while left != 0 {
                    power = if left & 1 == 1 { power.wrapping_mul(square) } else { power };
                    square = square.wrapping_mul(square);
                    left >>= 1;
                }
                power
            }
            $division!($ty, $signed);
            #[inline(always)]
            fn gcd(self, other: Self) -> Self {
                let (mut a, mut b) = (self.abs_diff(0), other.abs_diff(0));
                if a == 0 || b == 0 {
                    return (a | b) as $ty;
                }
                // Stein's algorithm (1967): divisions take longer than shifts and differences.
                let twos = (a | b).trailing_zeros();
                a >>= a.trailing_zeros();
                while b != 0 {
                    b >>= b.trailing_zeros();
                    (a, b) = (a.min(b), a.abs_diff(b));
                }
                (a << twos) as $ty
            }
            #[inline(always)]
            fn bit_and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn bit_or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn bit_xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn bit_not(self) -> Self { !self }
            #[inline(always)]
            fn shift_left(self, count: Self) -> Self {
                if (count as u64) < Self::BITS as u64 { self << count as u32 } else { 0 }
            }
            #[inline(always)]
            fn shift_right(self, count: Self) -> Self {
                let sign = self >> (Self::BITS - 1) >> 1;
                if (count as u64) < Self::BITS as u64 { self >> count as u32 } else { sign }
            }
        })*
    };
}
int! {
    u8, i8: by_f32;
    u16, i16: by_f32;
    u32, i32: by_f64;
    u64, i64: by_integers;
    i8, i8: by_f32;
    i16, i16: by_f32;
    i32, i32: by_f64;
    i64, i64: by_integers;
}

#[cfg(test)]
mod tests {
    use super::Int;

    #[test]
    fn greatest_common_divisors_are_euclid_s() {
        let euclid = |mut a: i32, mut b: i32| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a.abs()
        };
        for (a, b) in (-128..=127).flat_map(|a: i8| (-128..=127).map(move |b: i8| (a, b))) {
            let want = euclid(a.into(), b.into());
            assert_eq!(Int::gcd(a, b), want as i8, "{a} {b}");
            assert_eq!(Int::gcd(i64::from(a) << 40, i64::from(b) << 40), i64::from(want) << 40, "{a} {b}");
            assert_eq!(Int::gcd(a as u8, b as u8), euclid(i32::from(a as u8), i32::from(b as u8)) as u8);
        }
        assert_eq!(Int::gcd(i64::MIN, 0), i64::MIN);
    }

    #[test]
    fn integers_wrap_and_divide_as_in_python() {
        assert_eq!((Int::div_trunc(i32::MIN, -1), Int::rem_trunc(i32::MIN, -1)), (i32::MIN, 0));
        assert_eq!((Int::div_trunc(7i8, 0), Int::rem_floor(7u8, 0)), (0, 0));
        assert_eq!((Int::div_floor(-7i64, 2), Int::rem_floor(-7i64, 2), Int::rem_trunc(-7i64, 2)), (-4, 1, -1));
        assert_eq!((Int::div_floor(7i16, -2), Int::rem_floor(7i16, -2)), (-4, -1));
        for (a, b) in (-128..=127).flat_map(|a: i8| (-128..=127).map(move |b: i8| (a, b))).filter(|pair| pair.1 != 0) {
            assert_eq!((Int::div_trunc(a, b), Int::rem_trunc(a, b)), (a.wrapping_div(b), a.wrapping_rem(b)));
            // The ends of the range, where quotients are closest to integers.
            let (c, d) = (i32::MAX.wrapping_sub(a.into()), i32::MIN.wrapping_div(b.into()));
            for (c, d) in [(c, d), (c, b.into()), (d, c), (i32::MIN, c)] {
                assert_eq!((Int::div_trunc(c, d), Int::rem_trunc(c, d)), (c.wrapping_div(d), c.wrapping_rem(d)));
                let (c, d) = (c as u32, d as u32);
                assert_eq!((Int::div_trunc(c, d), Int::rem_trunc(c, d)), (c / d, c % d));
            }
        }
        assert_eq!((Int::shift_left(1u8, 8), Int::shift_left(1i32, -1), Int::shift_right(-8i8, 100)), (0, 0, -1));
        assert_eq!((Int::shift_right(200u8, 3), Int::shift_right(200u8, 8), Int::shift_right(-8i64, 63)), (25, 0, -1));
        assert_eq!((Int::wrapping_abs(i8::MIN), Int::signum(5u8), Int::signum(-5i64)), (i8::MIN, 1, -1));
        assert_eq!([i64::MIN, -7, 0, 7, i64::MAX].map(Int::signum), [-1, -1, 0, 1, 1]);
        assert_eq!((Int::gcd(-12i32, 18), Int::gcd(0u8, 0), Int::gcd(i8::MIN, 0)), (6, 0, i8::MIN));
        assert_eq!((Int::wrapping_pow(3u8, 5), Int::wrapping_pow(-2i64, 3)), (243, -8));
        // Exponents that 32 bits do not hold. Modulo 2^64 odd numbers to the power 2^62 are 1.
        assert_eq!((Int::wrapping_pow(0i64, 1 << 32), Int::wrapping_pow(3u64, 1 << 62)), (0, 1));
        assert_eq!(Int::wrapping_pow(3i64, (1 << 62) - 1).wrapping_mul(3), 1);
        assert_eq!((Int::lesser(-1i8, 1), Int::greater(1u8, 255)), (-1, 255));
    }
}
