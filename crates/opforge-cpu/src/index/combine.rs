//! How values that are written to one index are combined: sums, products, extremes.

use opforge_core::{Complex, WithDType, bf16, f16};

use crate::matmul::operand::{Accumulator, Operand};
pub(super) use crate::memory::Truth;

/// Real numbers that are combined in their own type; integers wrap.
pub(super) trait Number: WithDType {
    fn times(self, other: Self) -> Self;
    fn added(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($ty:ty: $a:ident, $b:ident => $times:expr, $plus:expr;)*) => {
        $(impl Number for $ty {
            #[inline(always)]
            fn times(self, $b: $ty) -> $ty {
                let $a = self;
                $times
            }
            #[inline(always)]
            fn added(self, $b: $ty) -> $ty {
                let $a = self;
                $plus
            }
        })*
    };
    (wrapping $($ty:ty),*) => { numbers!($($ty: a, b => a.wrapping_mul(b), a.wrapping_add(b);)*); };
    (rounding $($ty:ty),*) => { numbers!($($ty: a, b => a * b, a + b;)*); };
}
numbers!(wrapping u8, u16, u32, u64, i8, i16, i32, i64);
numbers!(rounding f16, bf16, f32, f64);

/// An element that can be added: how it enters and leaves the type of its sums.
pub(super) trait Summand: Copy {
    type Sum: Copy;
    fn widen(self) -> Self::Sum;
    fn narrow(sum: Self::Sum) -> Self;
    fn plus(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// Makes sums of `n` elements.
    ///
    /// # Safety
    /// `from` is readable for `n` elements, `to` writable for `n` sums, aligned.
    unsafe fn widen_all(from: *const Self, to: *mut Self::Sum, n: usize) {
        for i in 0..n {
            // SAFETY: `i` is below `n`.
            unsafe { to.add(i).write((*from.add(i)).widen()) };
        }
    }
    /// Rounds `n` sums.
    ///
    /// # Safety
    /// `from` is readable for `n` sums, `to` writable for `n` elements, aligned.
    unsafe fn narrow_all(from: *const Self::Sum, to: *mut Self, n: usize) {
        for i in 0..n {
            // SAFETY: `i` is below `n`.
            unsafe { to.add(i).write(Self::narrow(*from.add(i))) };
        }
    }
}

impl<T: Operand> Summand for T {
    type Sum = T::Acc;
    #[inline(always)]
    fn widen(self) -> T::Acc {
        Operand::widen(self)
    }
    #[inline(always)]
    fn narrow(sum: T::Acc) -> T {
        Operand::narrow(sum)
    }
    #[inline(always)]
    fn plus(a: T::Acc, b: T::Acc) -> T::Acc {
        a.plus(b)
    }
    unsafe fn widen_all(from: *const T, to: *mut T::Acc, n: usize) {
        // SAFETY: `from` has `n` elements and `to` room for their sums, which are the accumulators.
        unsafe { Operand::widen_all(from, to, n) }
    }
    unsafe fn narrow_all(from: *const T::Acc, to: *mut T, n: usize) {
        // SAFETY: `from` has `n` sums, which are the accumulators, and `to` room for as many elements.
        unsafe { Operand::narrow_all(from, to, n) }
    }
}

/// A number in itself, for combinations that do not gain by a wider type.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Plain<T>(T);

/// A float whose sums are totals, where many are added to each.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Many<T>(T);

impl<T: Operand> Summand for Many<T> {
    type Sum = <T::Acc as Accumulator>::Total;
    #[inline(always)]
    fn widen(self) -> Self::Sum {
        let mut total = Self::Sum::default();
        Operand::widen(self.0).add_to(&mut total);
        total
    }
    #[inline(always)]
    fn narrow(sum: Self::Sum) -> Self {
        Many(T::narrow(T::Acc::of_total(sum)))
    }
    #[inline(always)]
    fn plus(mut a: Self::Sum, b: Self::Sum) -> Self::Sum {
        T::Acc::join(&mut a, b);
        a
    }
}

impl<T: Number> Summand for Plain<T> {
    type Sum = T;
    #[inline(always)]
    fn widen(self) -> T {
        self.0
    }
    #[inline(always)]
    fn narrow(sum: T) -> Self {
        Plain(sum)
    }
    #[inline(always)]
    fn plus(a: T, b: T) -> T {
        a.added(b)
    }
}

/// How two values become one.
pub(super) trait Combine<T: Summand> {
    fn combine(a: T::Sum, b: T::Sum) -> T::Sum;
}

pub(super) struct Add;
pub(super) struct Multiply;
pub(super) struct Smallest;
pub(super) struct Largest;

impl<T: Summand> Combine<T> for Add {
    #[inline(always)]
    fn combine(a: T::Sum, b: T::Sum) -> T::Sum {
        T::plus(a, b)
    }
}

impl<T: Number> Combine<Plain<T>> for Multiply {
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.times(b)
    }
}

impl<T: Number> Combine<Plain<T>> for Smallest {
    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn combine(a: T, b: T) -> T {
        // Only NaN differs from itself.
        if a <= b || a != a { a } else { b }
    }
}

impl<T: Number> Combine<Plain<T>> for Largest {
    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn combine(a: T, b: T) -> T {
        // Only NaN differs from itself.
        if a >= b || a != a { a } else { b }
    }
}

/// Types that are their own sums.
macro_rules! own_sum {
    ($($ty:ty: $a:ident, $b:ident => $plus:expr;)*) => {
        $(impl Summand for $ty {
            type Sum = $ty;
            #[inline(always)]
            fn widen(self) -> $ty { self }
            #[inline(always)]
            fn narrow(sum: $ty) -> $ty { sum }
            #[inline(always)]
            fn plus($a: $ty, $b: $ty) -> $ty { $plus }
        })*
    };
}
own_sum!(
    // The sum of truth values is whether any is true.
    Truth: a, b => Truth(a.0 | b.0);
    Complex<f32>: a, b => a + b;
    Complex<f64>: a, b => a + b;
);
