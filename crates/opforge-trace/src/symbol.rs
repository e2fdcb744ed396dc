//! Symbols: elements that write down what is done to them.

use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use opforge_core::{Element, Scalar};
use opforge_tile::{Bits, Float, Int, Intrinsic, Of1, Of2};

use crate::expression::{Id, Op, bits};
use crate::record::{Arithmetic, arithmetic, record};

/// An element of type `T` in a tile function that is traced: the number of the node that computes it.
pub struct Symbol<T> {
    pub(crate) id: Id,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Symbol<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Symbol<T> {}

impl<T: Element> Symbol<T> {
    pub(crate) fn new(op: Op, operands: &[Id]) -> Self {
        Self::of(record(T::DTYPE, op, operands))
    }

    /// The symbol of a node of this type.
    pub(crate) fn of(id: Id) -> Self {
        Symbol { id, of: PhantomData }
    }

    /// The argument of this number.
    pub(crate) fn input(i: usize) -> Self {
        Self::new(Op::Input(i), &[])
    }

    pub(crate) fn constant(value: Scalar) -> Self {
        Self::new(Op::Constant(bits(value, T::DTYPE)), &[])
    }

    pub(crate) fn convert<U: Element>(self) -> Symbol<U> {
        if T::DTYPE == U::DTYPE { Symbol::of(self.id) } else { Symbol::new(Op::Convert, &[self.id]) }
    }

    fn reinterpret<U: Element>(self) -> Symbol<U> {
        Symbol::new(Op::Reinterpret, &[self.id])
    }

    pub(crate) fn choose(mask: Symbol<bool>, a: Self, b: Self) -> Self {
        Self::new(Op::Select, &[mask.id, a.id, b.id])
    }
}

/// Methods that record one operation.
macro_rules! recorded {
    ($($name:ident($($operand:ident),*) -> $result:ty = $op:expr;)*) => {
        $(fn $name(self $(, $operand: Self)*) -> $result {
            Symbol::new($op, &[self.id $(, $operand.id)*])
        })*
    };
}

macro_rules! operators {
    ($($ty:ty: $($trait:ident::$name:ident = $op:ident),*;)*) => {
        $($(impl $trait for Symbol<$ty> {
            type Output = Self;
            recorded! { $name(other) -> Self = Op::$op; }
        })*)*
    };
}
operators! {
    f32: Add::add = Add, Sub::sub = Sub, Mul::mul = Mul, Div::div = Div;
    f64: Add::add = Add, Sub::sub = Sub, Mul::mul = Mul, Div::div = Div;
    u32: Add::add = Add, Sub::sub = Sub, BitAnd::bitand = And, BitOr::bitor = Or, BitXor::bitxor = Xor;
    u64: Add::add = Add, Sub::sub = Sub, BitAnd::bitand = And, BitOr::bitor = Or, BitXor::bitxor = Xor;
    bool: BitAnd::bitand = And, BitOr::bitor = Or, BitXor::bitxor = Xor;
}

impl Not for Symbol<bool> {
    type Output = Self;
    recorded! { not() -> Self = Op::Not; }
}

macro_rules! float {
    ($($ty:ty, $bits:ty, $signed:ty, $magic:literal;)*) => {
        $(impl Neg for Symbol<$ty> {
            type Output = Self;
            recorded! { neg() -> Self = Op::Neg; }
        }

        impl Shl<u32> for Symbol<$bits> {
            type Output = Self;
            fn shl(self, count: u32) -> Self {
                Self::new(Op::Shl(count), &[self.id])
            }
        }

        impl Shr<u32> for Symbol<$bits> {
            type Output = Self;
            fn shr(self, count: u32) -> Self {
                Self::new(Op::Shr(count), &[self.id])
            }
        }

        impl Bits for Symbol<$bits> {
            type Mask = Symbol<bool>;
            fn splat(value: i64) -> Self {
                Self::constant(Scalar::UInt(value as $bits as u64))
            }
            recorded! { eq(other) -> Symbol<bool> = Op::Eq; }
            fn gt(self, other: Self) -> Symbol<bool> {
                let (a, b) = (self.reinterpret::<$signed>(), other.reinterpret::<$signed>());
                Symbol::new(Op::Lt, &[b.id, a.id])
            }
        }

        impl Float for Symbol<$ty> {
            type Mask = Symbol<bool>;
            type Bits = Symbol<$bits>;
            type Wide = Symbol<f64>;
            const DOUBLE: bool = size_of::<$ty>() == 8;

            fn fused() -> bool {
                arithmetic() != Arithmetic::Plain
            }
            fn approximates() -> bool {
                !Self::DOUBLE && arithmetic() == Arithmetic::Approximate
            }
            fn exp2_or(self, exp2: impl FnOnce(Self) -> Self) -> Self {
                if Self::approximates() { Self::new(Op::Exp2, &[self.id]) } else { exp2(self) }
            }
            fn over(self, divisor: Self) -> Self {
                let op = if Self::approximates() { Op::Quotient } else { Op::Div };
                Self::new(op, &[self.id, divisor.id])
            }
            fn splat(value: f64) -> Self {
                Self::constant(Scalar::Float(value))
            }
            fn mul_add(self, a: Self, b: Self) -> Self {
                if Self::fused() { Self::new(Op::MulAdd, &[self.id, a.id, b.id]) } else { self * a + b }
            }
            recorded! {
                abs() -> Self = Op::Abs;
                sqrt() -> Self = Op::Sqrt;
                floor() -> Self = Op::Floor;
                ceil() -> Self = Op::Ceil;
                trunc() -> Self = Op::Trunc;
                round_ties_even() -> Self = Op::RoundTiesEven;
                min(other) -> Self = Op::Min;
                max(other) -> Self = Op::Max;
                lt(other) -> Symbol<bool> = Op::Lt;
                le(other) -> Symbol<bool> = Op::Le;
                eq(other) -> Symbol<bool> = Op::Eq;
                ne(other) -> Symbol<bool> = Op::Ne;
                to_bits() -> Symbol<$bits> = Op::Reinterpret;
            }
            fn select(mask: Symbol<bool>, a: Self, b: Self) -> Self {
                Self::choose(mask, a, b)
            }
            fn select_rarely(mask: Symbol<bool>, rare: impl FnOnce() -> Self, common: Self) -> Self {
                Self::choose(mask, rare(), common)
            }
            fn from_bits(bits: Symbol<$bits>) -> Self {
                bits.reinterpret()
            }
            // Adding 1.5 * 2^(mantissa bits) leaves the rounded integer in the low bits.
            fn to_int(self) -> Symbol<$bits> {
                (self + Self::splat($magic)).to_bits() - Self::splat($magic).to_bits()
            }
            fn from_int(int: Symbol<$bits>) -> Self {
                Self::from_bits(int + Self::splat($magic).to_bits()) - Self::splat($magic)
            }
            fn via_f64(self, f: impl Fn(Symbol<f64>) -> Symbol<f64>) -> Self {
                f(self.convert()).convert()
            }
            fn via_f64_2(self, other: Self, f: impl Fn(Symbol<f64>, Symbol<f64>) -> Symbol<f64>) -> Self {
                f(self.convert(), other.convert()).convert()
            }
            fn call(self, function: Intrinsic<Of1>) -> Self {
                self.via_f64(|x| Symbol::new(function.into(), &[x.id]))
            }
            fn call_2(self, other: Self, function: Intrinsic<Of2>) -> Self {
                self.via_f64_2(other, |a, b| Symbol::new(function.into(), &[a.id, b.id]))
            }
        })*
    };
}
float! {
    f32, u32, i32, 12582912.0;
    f64, u64, i64, 6755399441055744.0;
}

macro_rules! int {
    ($($ty:ty),*) => {
        $(impl Int for Symbol<$ty> {
            type Mask = Symbol<bool>;
            fn from_i64(v: i64) -> Self {
                Self::new(Op::Constant(v as $ty as u64), &[])
            }
            fn least() -> Self {
                Self::new(Op::Constant(<$ty>::MIN as u64), &[])
            }
            fn greatest() -> Self {
                Self::new(Op::Constant(<$ty>::MAX as u64), &[])
            }
            fn truth(value: bool) -> Symbol<bool> {
                Symbol::constant(Scalar::Bool(value))
            }
            fn select(mask: Symbol<bool>, a: Self, b: Self) -> Self {
                Self::choose(mask, a, b)
            }
            recorded! {
                lt(other) -> Symbol<bool> = Op::Lt;
                le(other) -> Symbol<bool> = Op::Le;
                eq(other) -> Symbol<bool> = Op::Eq;
                ne(other) -> Symbol<bool> = Op::Ne;
                wrapping_add(other) -> Self = Op::Add;
                wrapping_sub(other) -> Self = Op::Sub;
                wrapping_mul(other) -> Self = Op::Mul;
                wrapping_neg() -> Self = Op::Neg;
                wrapping_pow(exponent) -> Self = Op::Pow;
                div_trunc(divisor) -> Self = Op::Div;
                rem_trunc(divisor) -> Self = Op::Rem;
                gcd(other) -> Self = Op::Gcd;
                bit_and(other) -> Self = Op::And;
                bit_or(other) -> Self = Op::Or;
                bit_xor(other) -> Self = Op::Xor;
                bit_not() -> Self = Op::Not;
                shift_left(count) -> Self = Op::ShiftLeft;
                shift_right(count) -> Self = Op::ShiftRight;
            }
            fn ge(self, other: Self) -> Symbol<bool> {
                Int::le(other, self)
            }
        })*
    };
}
int!(u8, u16, u32, u64, i8, i16, i32, i64);
