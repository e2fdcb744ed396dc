use opforge_core::IntDType;

/// An integer element, with the arithmetic of PyTorch: results wrap.
///
/// Plain loops over these vectorise inside a [`Routine`](super::Routine).
pub trait Int: IntDType + Ord {
    /// The least value.
    const MIN: Self;
    /// The greatest value.
    const MAX: Self;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// True for signed types.
    const SIGNED: bool;
    /// The low bits of the integer.
    fn from_i64(v: i64) -> Self;
    /// The value, wrapped to 64 bits.
    fn to_i64(self) -> i64;
    /// The sum, wrapped.
    fn wrapping_add(self, other: Self) -> Self;
    /// The difference, wrapped.
    fn wrapping_sub(self, other: Self) -> Self;
    /// The product, wrapped.
    fn wrapping_mul(self, other: Self) -> Self;
    /// The negation, wrapped.
    fn wrapping_neg(self) -> Self;
    /// The magnitude; `MIN` stays `MIN`.
    fn wrapping_abs(self) -> Self;
    /// The power by squaring, wrapped.
    fn wrapping_pow(self, exponent: u32) -> Self;
    /// Division rounded towards zero; wraps for `MIN / -1`, and gives 0 for a divisor of 0, which the caller reports.
    fn div_trunc(self, divisor: Self) -> Self;
    /// Division rounded down; wraps for `MIN / -1`, and gives 0 for a divisor of 0, which the caller reports.
    fn div_floor(self, divisor: Self) -> Self;
    /// What [`div_trunc`](Int::div_trunc) leaves: has the dividend's sign. 0 for a divisor of 0.
    fn rem_trunc(self, divisor: Self) -> Self;
    /// What [`div_floor`](Int::div_floor) leaves: has the divisor's sign. 0 for a divisor of 0.
    fn rem_floor(self, divisor: Self) -> Self;
    /// -1, 0 or 1.
    fn signum(self) -> Self;
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

/// The methods that differ between signed and unsigned types.
macro_rules! by_sign {
    (signed) => {
        const SIGNED: bool = true;
        #[inline(always)]
        fn wrapping_abs(self) -> Self {
            self.wrapping_abs()
        }
        #[inline(always)]
        fn signum(self) -> Self {
            self.signum()
        }
        #[inline(always)]
        fn div_floor(self, divisor: Self) -> Self {
            let (q, r) = (self.div_trunc(divisor), self.rem_trunc(divisor));
            if r != 0 && (r < 0) != (divisor < 0) { q - 1 } else { q }
        }
        #[inline(always)]
        fn rem_floor(self, divisor: Self) -> Self {
            let r = self.rem_trunc(divisor);
            if r != 0 && (r < 0) != (divisor < 0) { r + divisor } else { r }
        }
        #[inline(always)]
        fn shift_right(self, count: Self) -> Self {
            self >> if (0..Self::BITS as i64).contains(&(count as i64)) { count as u32 } else { Self::BITS - 1 }
        }
    };
    (unsigned) => {
        const SIGNED: bool = false;
        #[inline(always)]
        fn wrapping_abs(self) -> Self {
            self
        }
        #[inline(always)]
        fn signum(self) -> Self {
            (self != 0).into()
        }
        #[inline(always)]
        fn div_floor(self, divisor: Self) -> Self {
            self.div_trunc(divisor)
        }
        #[inline(always)]
        fn rem_floor(self, divisor: Self) -> Self {
            self.rem_trunc(divisor)
        }
        #[inline(always)]
        fn shift_right(self, count: Self) -> Self {
            if (count as u64) < Self::BITS as u64 { self >> count as u32 } else { 0 }
        }
    };
}

macro_rules! int {
    ($sign:ident: $($ty:ty),*) => {
        $(impl Int for $ty {
            const MIN: Self = <$ty>::MIN;
            const MAX: Self = <$ty>::MAX;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            by_sign!($sign);
            #[inline(always)]
            fn from_i64(v: i64) -> Self { v as $ty }
            #[inline(always)]
            fn to_i64(self) -> i64 { self as i64 }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn wrapping_neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn wrapping_pow(self, exponent: u32) -> Self { self.wrapping_pow(exponent) }
            #[inline(always)]
            fn div_trunc(self, divisor: Self) -> Self { if divisor == 0 { 0 } else { self.wrapping_div(divisor) } }
            #[inline(always)]
            fn rem_trunc(self, divisor: Self) -> Self { if divisor == 0 { 0 } else { self.wrapping_rem(divisor) } }
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
        })*
    };
}
int!(signed: i8, i16, i32, i64);
int!(unsigned: u8, u16, u32, u64);
