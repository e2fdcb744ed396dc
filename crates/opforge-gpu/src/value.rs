//! What kernels are written with: values, variables, arrays of a group.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Rem, Sub};

use opforge_core::{DType, Scalar};
use opforge_trace::{Op, bits};

use crate::code::Code;
use crate::kernel::{INDEX, Id, Source, Statement};

/// A value of the kernel that is written.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    pub code: &'a Code,
    pub id: Id,
}

impl<'a> Value<'a> {
    pub fn dtype(self) -> DType {
        self.code.dtype_of(self.id)
    }

    /// Whether it is always this index.
    pub fn is(self, i: u64) -> bool {
        self.code.constant_of(self.id) == Some(i)
    }

    /// An operation on it, and perhaps others.
    pub fn op(self, op: Op, dtype: DType, others: &[Value<'a>]) -> Value<'a> {
        let operands: Vec<Id> = [self].iter().chain(others).map(|value| value.id).collect();
        self.code.defined(dtype, Source::Compute(op), &operands)
    }

    fn with(self, op: Op, other: Value<'a>) -> Value<'a> {
        self.op(op, self.dtype(), &[other])
    }

    pub fn lt(self, other: Value<'a>) -> Value<'a> {
        self.op(Op::Lt, DType::Bool, &[other])
    }
    pub fn le(self, other: Value<'a>) -> Value<'a> {
        self.op(Op::Le, DType::Bool, &[other])
    }
    pub fn equals(self, other: Value<'a>) -> Value<'a> {
        self.op(Op::Eq, DType::Bool, &[other])
    }
    pub fn differs(self, other: Value<'a>) -> Value<'a> {
        self.op(Op::Ne, DType::Bool, &[other])
    }
    pub fn is_nan(self) -> Value<'a> {
        self.differs(self)
    }
    /// The greater; NaN if either is.
    pub fn max(self, other: Value<'a>) -> Value<'a> {
        if self.dtype().is_float() { self.with(Op::Max, other) } else { self.lt(other).choose(other, self) }
    }
    /// The lesser; NaN if either is.
    pub fn min(self, other: Value<'a>) -> Value<'a> {
        if self.dtype().is_float() { self.with(Op::Min, other) } else { other.lt(self).choose(other, self) }
    }
    pub fn sqrt(self) -> Value<'a> {
        self.op(Op::Sqrt, self.dtype(), &[])
    }
    pub fn abs(self) -> Value<'a> {
        self.op(Op::Abs, self.dtype(), &[])
    }
    pub fn xor(self, other: Value<'a>) -> Value<'a> {
        self.with(Op::Xor, other)
    }
    pub fn shl(self, count: u32) -> Value<'a> {
        self.op(Op::Shl(count), self.dtype(), &[])
    }
    pub fn shr(self, count: u32) -> Value<'a> {
        self.op(Op::Shr(count), self.dtype(), &[])
    }
    /// The upper word of a product of words: `self * other` is the lower one.
    pub fn high_product(self, other: Value<'a>) -> Value<'a> {
        self.code.defined(INDEX, Source::HighProduct, &[self.id, other.id])
    }
    /// `self * a + b`, rounded as the target does.
    pub fn mul_add(self, a: Value<'a>, b: Value<'a>) -> Value<'a> {
        if self.code.fused() && self.dtype().is_float() {
            self.op(Op::MulAdd, self.dtype(), &[a, b])
        } else {
            self * a + b
        }
    }

    /// Of a truth value: one of two, both of which are computed.
    pub fn choose(self, a: Value<'a>, b: Value<'a>) -> Value<'a> {
        self.op(Op::Select, a.dtype(), &[a, b])
    }

    /// The number in another dtype, as Rust's `as` has it; truth is what differs from 0.
    pub fn to(self, dtype: DType) -> Value<'a> {
        match self.dtype() {
            own if own == dtype => self,
            own if dtype == DType::Bool => self.differs(self.code.constant(Scalar::Int(0), own)),
            own => match self.code.constant_of(self.id) {
                Some(bits) if own == INDEX && dtype.is_int() => self.code.constant_bits(bits, dtype),
                _ => self.op(Op::Convert, dtype, &[]),
            },
        }
    }

    /// A number of this value's dtype.
    pub fn like(self, value: impl Into<Scalar>) -> Value<'a> {
        let dtype = self.dtype();
        self.code.constant_bits(bits(value.into(), dtype), dtype)
    }
}

/// What is known beforehand of an operation on indices: adding 0, multiplying by 0 or 1, dividing by 1.
fn folded<'a>(op: Op, a: Value<'a>, b: Value<'a>) -> Option<Value<'a>> {
    let code = a.code;
    if a.dtype() != INDEX {
        return None;
    }
    match op {
        Op::Add if a.is(0) => Some(b),
        Op::Add | Op::Sub if b.is(0) => Some(a),
        Op::Mul if a.is(0) || b.is(0) => Some(code.index(0)),
        Op::Mul if a.is(1) => Some(b),
        Op::Mul | Op::Div if b.is(1) => Some(a),
        Op::Rem if b.is(1) => Some(code.index(0)),
        _ => None,
    }
}

macro_rules! operators {
    ($($trait:ident::$name:ident = $op:ident;)*) => {
        $(impl<'a> $trait for Value<'a> {
            type Output = Value<'a>;
            fn $name(self, other: Value<'a>) -> Value<'a> {
                folded(Op::$op, self, other).unwrap_or_else(|| self.with(Op::$op, other))
            }
        }
        impl<'a> $trait<usize> for Value<'a> {
            type Output = Value<'a>;
            fn $name(self, other: usize) -> Value<'a> {
                $trait::$name(self, self.like(other as i64))
            }
        })*
    };
}
operators! {
    Add::add = Add;
    Sub::sub = Sub;
    Mul::mul = Mul;
    Div::div = Div;
    Rem::rem = Rem;
    BitAnd::bitand = And;
    BitOr::bitor = Or;
}

impl<'a> Neg for Value<'a> {
    type Output = Value<'a>;
    fn neg(self) -> Value<'a> {
        self.op(Op::Neg, self.dtype(), &[])
    }
}

impl<'a> Not for Value<'a> {
    type Output = Value<'a>;
    fn not(self) -> Value<'a> {
        self.op(Op::Not, self.dtype(), &[])
    }
}

/// A variable.
#[derive(Clone, Copy)]
pub(crate) struct Var<'a> {
    pub code: &'a Code,
    pub number: usize,
    pub dtype: DType,
}

impl<'a> Var<'a> {
    pub fn get(self) -> Value<'a> {
        self.code.defined(self.dtype, Source::Read(self.number), &[])
    }
    pub fn set(self, value: Value<'a>) {
        self.code.say(Statement::Set(self.number, value.id));
    }
    /// Adds to it.
    pub fn add(self, value: Value<'a>) {
        self.set(self.get() + value);
    }
}

/// An array of the group.
#[derive(Clone, Copy)]
pub(crate) struct Array<'a> {
    pub code: &'a Code,
    pub number: usize,
    pub dtype: DType,
}

impl<'a> Array<'a> {
    pub fn load(self, index: Value<'a>) -> Value<'a> {
        self.code.defined(self.dtype, Source::LoadShared(self.number), &[index.id])
    }
    pub fn store(self, index: Value<'a>, value: Value<'a>) {
        self.code.say(Statement::StoreShared { array: self.number, index: index.id, value: value.id });
    }
}
