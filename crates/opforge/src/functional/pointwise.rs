//! The common part of all functions of two operands: shapes, dtypes and numbers are brought together here.

use std::borrow::Cow;

use opforge_core::{Scalar, promote, result_type};

use super::{Operand, Rules};
use crate::dispatch::{dispatch1, journey};
use crate::operator::{Binary, BinaryOp, CompareOp, CompareWithScalar, Comparison, Operator, Side, WithScalar};
use crate::{DType, Error, Result, Tensor};

/// Applies a binary function.
#[track_caller]
pub fn binary<F: Binary>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<Tensor> {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => two_tensors(F::NAME, &BinaryOp(f), a, b, rules),
        (Operand::Tensor(t), Operand::Scalar(s)) => tensor_and_number(f, t, s, Side::Right, rules),
        (Operand::Scalar(s), Operand::Tensor(t)) => tensor_and_number(f, t, s, Side::Left, rules),
        (Operand::Scalar(_), Operand::Scalar(_)) => Err(two_numbers(F::NAME)),
    }
}

#[track_caller]
fn tensor_and_number<F: Binary>(f: F, t: &Tensor, s: Scalar, side: Side, rules: Rules) -> Result<Tensor> {
    let (t, scalar) = with_number(F::NAME, t, s, rules)?;
    dispatch1(&WithScalar { f, scalar, side }, &[&t])
}

/// Applies a comparison; the result's dtype is the rules' truth.
#[track_caller]
pub fn compare<F: Comparison>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<Tensor> {
    let truth = rules.truth;
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => two_tensors(F::NAME, &CompareOp { f, truth }, a, b, rules),
        (Operand::Tensor(a), Operand::Scalar(s)) => {
            let (a, scalar) = with_number(F::NAME, a, s, rules)?;
            dispatch1(&CompareWithScalar { f, scalar, side: Side::Right, truth }, &[&a])
        }
        (Operand::Scalar(s), Operand::Tensor(b)) => {
            let (b, scalar) = with_number(F::NAME, b, s, rules)?;
            dispatch1(&CompareWithScalar { f, scalar, side: Side::Left, truth }, &[&b])
        }
        (Operand::Scalar(_), Operand::Scalar(_)) => Err(two_numbers(F::NAME)),
    }
}

#[track_caller]
fn two_tensors(name: &'static str, op: &dyn Operator, a: &Tensor, b: &Tensor, rules: Rules) -> Result<Tensor> {
    if !rules.broadcast && a.shape() != b.shape() {
        return Err(Error::shapes(name, a.shape(), b.shape(), "equal shapes"));
    }
    if a.dtype() == b.dtype() {
        journey::step("functional", || format!("{name}: dtypes agree, shapes {:?} and {:?}", a.shape(), b.shape()));
        return dispatch1(op, &[a, b]);
    }
    if !rules.promote {
        return Err(Error::dtypes(name, a.dtype(), b.dtype()));
    }
    let dtype = common_dtype(a, b);
    journey::step("functional", || format!("{name}: {} and {} promote to {dtype}", a.dtype(), b.dtype()));
    dispatch1(op, &[&*cast(a, dtype)?, &*cast(b, dtype)?])
}

/// The dtype that two tensors promote to; 0-d tensors give way to others of the same or a higher kind.
pub(crate) fn common_dtype(a: &Tensor, b: &Tensor) -> DType {
    match (a.rank() == 0, b.rank() == 0) {
        (true, false) => result_type(Some(b.dtype()), Some(a.dtype()), None, DType::F32),
        (false, true) => result_type(Some(a.dtype()), Some(b.dtype()), None, DType::F32),
        _ => promote(a.dtype(), b.dtype()),
    }
}

#[track_caller]
fn cast(t: &Tensor, dtype: DType) -> Result<Cow<'_, Tensor>> {
    if t.dtype() == dtype { Ok(Cow::Borrowed(t)) } else { t.to_dtype(dtype).map(Cow::Owned) }
}

/// The tensor in the dtype that it and the number promote to, and the number in that dtype's family.
#[track_caller]
fn with_number<'a>(name: &'static str, t: &'a Tensor, s: Scalar, rules: Rules) -> Result<(Cow<'a, Tensor>, Scalar)> {
    let dtype = if rules.promote { result_type(Some(t.dtype()), None, Some(s.kind()), DType::F32) } else { t.dtype() };
    Ok((cast(t, dtype)?, fit(name, s, dtype)?))
}

/// A number as a dtype's elements hold it; an error where that loses the value.
pub(crate) fn fit(name: &'static str, s: Scalar, dtype: DType) -> Result<Scalar> {
    if !s.fits(dtype) {
        return Err(Error::dtype(name, "scalar", s, format!("a value that {dtype} can hold")));
    }
    Ok(match (s, dtype.kind()) {
        (Scalar::Complex(re, _), opforge_core::Kind::Float) => Scalar::Float(re),
        (s, opforge_core::Kind::Float) => Scalar::Float(s.to_f64()),
        (s @ Scalar::UInt(_), opforge_core::Kind::Int) => s,
        (s, opforge_core::Kind::Int) => Scalar::Int(s.to_i64()),
        (s, opforge_core::Kind::Bool) => Scalar::Bool(s.to_bool()),
        (s, opforge_core::Kind::Complex) => s,
    })
}

fn two_numbers(name: &'static str) -> Error {
    Error::value(name, "arguments", "two numbers", "at least one tensor")
}
