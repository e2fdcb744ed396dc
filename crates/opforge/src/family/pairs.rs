//! The common part of all functions of two operands: shapes, dtypes and numbers are brought together here.

use std::borrow::Cow;

use opforge_core::{Kind, Scalar, promote, result_type, scalar_type};

use super::{Binary, BinaryOp, CompareOp, CompareWithScalar, Comparison, Side, Unary, WithScalar, ensure, unary_to};
use crate::arguments::{Operand, Rules, default_dtype};
use crate::dispatch::{Out, dispatch_to, dispatch1, journey};
use crate::operator::Operator;
use crate::{DType, Device, Error, Result, Tensor};

/// Applies a binary function.
#[track_caller]
pub fn binary<F: Binary>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<Tensor> {
    binary_to(f, a, b, rules, None)
}

/// As [`binary`], with a destination.
#[track_caller]
pub fn binary_to<F: Binary>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules, out: Out<'_>) -> Result<Tensor> {
    if is_complex(a) || is_complex(b) {
        return complex_binary(f, a, b, rules);
    }
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) if F::WIDE_NUMBERS && rules.promote && has_wide_number(a, b) => {
            let wide = |t: &Tensor| t.to_dtype(DType::F32);
            two_tensors(F::NAME, &BinaryOp(f), &wide(a)?, &wide(b)?, rules, None)?.to_dtype(a.dtype())
        }
        (Operand::Tensor(a), Operand::Tensor(b)) => two_tensors(F::NAME, &BinaryOp(f), a, b, rules, out),
        (Operand::Tensor(t), Operand::Scalar(s)) => tensor_and_number(f, t, s, Side::Right, rules, out),
        (Operand::Scalar(s), Operand::Tensor(t)) => tensor_and_number(f, t, s, Side::Left, rules, out),
        (Operand::Scalar(s), b) => binary_to(f, (&number::<F>(s, rules)?).into(), b, rules, out),
    }
}

/// Whether the second tensor is a number that gives way to the first one's f16 or bf16, and would be rounded to it.
fn has_wide_number(a: &Tensor, b: &Tensor) -> bool {
    is_half(a.dtype()) && a.rank() > 0 && b.rank() == 0 && b.dtype() != a.dtype()
}

/// Whether the dtype is one of the floats of 16 bits, which are computed in f32.
pub(crate) fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// A number of two as a tensor, where PyTorch takes two.
#[track_caller]
fn number<F: Binary>(s: Scalar, rules: Rules) -> Result<Tensor> {
    ensure(F::OF_NUMBERS && rules.promote, || two_numbers(F::NAME))?;
    Tensor::full_scalar(s, (), scalar_type(s.kind(), default_dtype()), &Device::Cpu)
}

/// Applies a function that only floating-point numbers have: integers and truth values are converted first.
#[track_caller]
pub fn unary_float<F: Unary>(f: F, input: &Tensor, out: Out<'_>) -> Result<Tensor> {
    unary_to(f, &*floating(input)?, out)
}

/// As [`unary_to`] if integers have the function, else as [`unary_float`].
#[track_caller]
pub fn unary_promoted<F: Unary>(f: F, input: &Tensor, out: Out<'_>) -> Result<Tensor> {
    if F::INT { unary_to(f, input, out) } else { unary_float(f, input, out) }
}

/// As [`unary_float`], of two operands.
#[track_caller]
pub fn binary_float<F: Binary>(f: F, a: Operand<'_>, b: Operand<'_>, out: Out<'_>) -> Result<Tensor> {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) if is_whole(a) && is_whole(b) => {
            binary_to(f, (&*floating(a)?).into(), b.into(), Rules::TORCH, out)
        }
        (Operand::Tensor(a), b @ Operand::Scalar(_)) => binary_to(f, (&*floating(a)?).into(), b, Rules::TORCH, out),
        (a @ Operand::Scalar(_), Operand::Tensor(b)) => binary_to(f, a, (&*floating(b)?).into(), Rules::TORCH, out),
        (Operand::Scalar(s), b @ Operand::Scalar(_)) => {
            binary_float(f, (&number::<F>(s, Rules::TORCH)?).into(), b, out)
        }
        (a, b) => binary_to(f, a, b, Rules::TORCH, out),
    }
}

fn is_whole(t: &Tensor) -> bool {
    t.dtype().kind() < Kind::Float
}

/// The tensor itself, or an integer one in the default floating-point dtype.
#[track_caller]
pub(crate) fn floating(t: &Tensor) -> Result<Cow<'_, Tensor>> {
    if is_whole(t) { cast(t, default_dtype()) } else { Ok(Cow::Borrowed(t)) }
}

#[inline]
fn is_complex(operand: Operand<'_>) -> bool {
    match operand {
        Operand::Tensor(t) => t.dtype().is_complex(),
        Operand::Scalar(s) => s.kind() == Kind::Complex,
    }
}

/// As [`binary`], where a tensor or a number is complex.
#[cold]
#[track_caller]
fn complex_binary<F: Binary>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<Tensor> {
    let [a, b] = complex_pair(F::NAME, a, b, rules)?;
    // Kernels of other devices have real numbers only.
    if F::COMPLEX && matches!(a.device(), Device::Cpu) {
        return dispatch1(&BinaryOp(f), &[&a, &b]);
    }
    f.by_parts(&a, &b)
}

/// As [`compare`], where a tensor or a number is complex.
#[cold]
#[track_caller]
fn complex_compare<F: Comparison>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<Tensor> {
    let [a, b] = complex_pair(F::NAME, a, b, rules)?;
    f.complex(&a, &b)?.to_dtype(rules.truth)
}

#[inline]
fn is_stored(operand: Operand<'_>) -> bool {
    matches!(operand, Operand::Tensor(t) if t.dtype().is_storage_only())
}

/// As [`compare`], where a tensor's dtype is only stored: in f32, which holds its elements. Numbers are rounded to the dtype before.
#[cold]
#[track_caller]
fn stored_compare<F: Comparison>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<Tensor> {
    let wide = |t: &Tensor| t.detach().to_dtype(DType::F32);
    let rounded = |s: Scalar, t: &Tensor| {
        let number = fit(F::NAME, s, if rules.promote { dtype_with(F::NAME, t, s.kind())? } else { t.dtype() })?;
        wide(&Tensor::full_scalar(number, (), t.dtype(), t.device())?)
    };
    let (a, b) = match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => {
            ensure(a.dtype() == b.dtype(), || Error::dtypes(F::NAME, a.dtype(), b.dtype()))?;
            (wide(a)?, wide(b)?)
        }
        (Operand::Tensor(a), Operand::Scalar(s)) => (wide(a)?, rounded(s, a)?),
        (Operand::Scalar(s), Operand::Tensor(b)) => (rounded(s, b)?, wide(b)?),
        (Operand::Scalar(_), Operand::Scalar(_)) => return Err(two_numbers(F::NAME)),
    };
    let broadcast = rules.broadcast || a.rank() == 0 || b.rank() == 0;
    compare(f, (&a).into(), (&b).into(), Rules { broadcast, ..rules })
}

/// The operands in one complex dtype.
#[track_caller]
fn complex_pair(name: &'static str, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<[Tensor; 2]> {
    let (tensor, other) = match (a, b) {
        (Operand::Tensor(t), other) | (other, Operand::Tensor(t)) => (t, other),
        _ => return Err(two_numbers(name)),
    };
    let dtype = match other {
        Operand::Tensor(other) if !rules.broadcast && tensor.shape() != other.shape() => {
            return Err(Error::binary_shapes(name, tensor.shape(), other.shape()));
        }
        Operand::Tensor(other) if !rules.promote && tensor.dtype() != other.dtype() => {
            return Err(Error::dtypes(name, tensor.dtype(), other.dtype()));
        }
        Operand::Tensor(other) => common_dtype(name, tensor, other)?,
        Operand::Scalar(s) if rules.promote => dtype_with(name, tensor, s.kind())?,
        Operand::Scalar(_) => tensor.dtype(),
    };
    let whole = |operand: Operand<'_>| match operand {
        Operand::Tensor(t) => t.to_dtype(dtype),
        Operand::Scalar(s) => Tensor::full_scalar(fit(name, s, dtype)?, (), dtype, tensor.device()),
    };
    Ok([whole(a)?, whole(b)?])
}

#[track_caller]
fn tensor_and_number<F: Binary>(f: F, t: &Tensor, s: Scalar, side: Side, rules: Rules, out: Out<'_>) -> Result<Tensor> {
    let (t, scalar) = with_number(F::NAME, t, s, rules)?;
    dispatch_to(&WithScalar { f, scalar, side }, &[&t], out)
}

/// Applies a comparison; the result's dtype is the rules' truth.
#[track_caller]
pub fn compare<F: Comparison>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules) -> Result<Tensor> {
    compare_to(f, a, b, rules, None)
}

/// As [`compare`], with a destination.
#[track_caller]
pub fn compare_to<F: Comparison>(f: F, a: Operand<'_>, b: Operand<'_>, rules: Rules, out: Out<'_>) -> Result<Tensor> {
    if is_complex(a) || is_complex(b) {
        return complex_compare(f, a, b, rules);
    }
    if F::OF_STORED && (is_stored(a) || is_stored(b)) {
        return stored_compare(f, a, b, rules);
    }
    let truth = rules.truth;
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => two_tensors(F::NAME, &CompareOp { f, truth }, a, b, rules, out),
        (Operand::Tensor(a), Operand::Scalar(s)) => {
            let (a, scalar) = with_number(F::NAME, a, s, rules)?;
            dispatch_to(&CompareWithScalar { f, scalar, side: Side::Right, truth }, &[&a], out)
        }
        (Operand::Scalar(s), Operand::Tensor(b)) => {
            let (b, scalar) = with_number(F::NAME, b, s, rules)?;
            dispatch_to(&CompareWithScalar { f, scalar, side: Side::Left, truth }, &[&b], out)
        }
        (Operand::Scalar(_), Operand::Scalar(_)) => Err(two_numbers(F::NAME)),
    }
}

#[track_caller]
fn two_tensors(
    name: &'static str,
    op: &dyn Operator,
    a: &Tensor,
    b: &Tensor,
    rules: Rules,
    out: Out<'_>,
) -> Result<Tensor> {
    if !rules.broadcast && a.shape() != b.shape() {
        return Err(Error::binary_shapes(name, a.shape(), b.shape()));
    }
    if a.device() != b.device() && (a.rank() == 0) != (b.rank() == 0) && rules.broadcast {
        return together(name, op, a, b, rules, out);
    }
    if a.dtype() == b.dtype() {
        journey::step("functional", || format!("{name}: dtypes agree, shapes {:?} and {:?}", a.shape(), b.shape()));
        return dispatch_to(op, &[a, b], out);
    }
    ensure(rules.promote, || Error::dtypes(name, a.dtype(), b.dtype()))?;
    let dtype = common_dtype(name, a, b)?;
    journey::step("functional", || format!("{name}: {} and {} promote to {dtype}", a.dtype(), b.dtype()));
    dispatch_to(op, &[&*cast(a, dtype)?, &*cast(b, dtype)?], out)
}

/// As [`two_tensors`], one of which is a number elsewhere.
#[cold]
#[track_caller]
fn together(
    name: &'static str,
    op: &dyn Operator,
    a: &Tensor,
    b: &Tensor,
    rules: Rules,
    out: Out<'_>,
) -> Result<Tensor> {
    let (a, b) = (beside(a, b)?, beside(b, a)?);
    if a.device() != b.device() {
        return dispatch_to(op, &[&a, &b], out);
    }
    two_tensors(name, op, &a, &b, rules, out)
}

/// The dtype that two tensors promote to; 0-d tensors give way to others of the same or a higher kind.
pub(crate) fn common_dtype(name: &'static str, a: &Tensor, b: &Tensor) -> Result<DType> {
    let common = match (a.rank() == 0, b.rank() == 0) {
        (true, false) => result_type(Some(b.dtype()), Some(a.dtype()), None, default_dtype()),
        (false, true) => result_type(Some(a.dtype()), Some(b.dtype()), None, default_dtype()),
        _ => promote(a.dtype(), b.dtype()),
    };
    common.ok_or_else(|| Error::dtypes(name, a.dtype(), b.dtype()))
}

/// The dtype that all of these promote to; none of none.
pub(crate) fn promote_all(name: &'static str, dtypes: impl Iterator<Item = DType>) -> Result<Option<DType>> {
    let both = |a, b| promote(a, b).ok_or_else(|| Error::dtypes(name, a, b));
    let mut dtypes = dtypes;
    dtypes.next().map(|first| dtypes.try_fold(first, both)).transpose()
}

#[track_caller]
fn cast(t: &Tensor, dtype: DType) -> Result<Cow<'_, Tensor>> {
    if t.dtype() == dtype { Ok(Cow::Borrowed(t)) } else { t.to_dtype(dtype).map(Cow::Owned) }
}

/// The tensor in the dtype that it and the number promote to, and the number in that dtype's family.
#[track_caller]
fn with_number<'a>(name: &'static str, t: &'a Tensor, s: Scalar, rules: Rules) -> Result<(Cow<'a, Tensor>, Scalar)> {
    let dtype = if rules.promote { dtype_with(name, t, s.kind())? } else { t.dtype() };
    let wraps = rules.promote && dtype.is_int() && s.kind() == Kind::Int && !s.fits(dtype);
    let number = match rules.cast {
        true => s.cast(dtype),
        false if wraps => wrapped(s, dtype),
        false => fit(name, s, dtype)?,
    };
    Ok((cast(t, dtype)?, number))
}

/// The dtype that a tensor and a number of this kind promote to.
pub(crate) fn dtype_with(name: &'static str, t: &Tensor, kind: Kind) -> Result<DType> {
    let default = default_dtype();
    let common = result_type(Some(t.dtype()), None, Some(kind), default);
    common.ok_or_else(|| Error::dtypes(name, t.dtype(), scalar_type(kind, default)))
}

/// An integer beyond the range of an integer dtype as arithmetic takes it: modulo 2 to the number of the dtype's bits.
fn wrapped(s: Scalar, dtype: DType) -> Scalar {
    let (bits, unused) = (s.to_i64(), 64 - 8 * dtype.size_in_bytes() as u32);
    if dtype.is_signed() {
        Scalar::Int(bits << unused >> unused)
    } else {
        Scalar::from((bits as u64) << unused >> unused)
    }
}

/// A number as a dtype's elements hold it; an error where that loses the value.
pub(crate) fn fit(name: &'static str, s: Scalar, dtype: DType) -> Result<Scalar> {
    ensure(s.fits(dtype), || Error::dtype(name, "scalar", s, format!("a value that {dtype} can hold")))?;
    Ok(s.in_kind(dtype.kind()))
}

/// A number as it is assigned to elements of a dtype: [`Scalar::converted`].
pub(crate) fn converted(name: &'static str, s: Scalar, dtype: DType) -> Result<Scalar> {
    s.converted(dtype).ok_or_else(|| Error::dtype(name, "scalar", s, format!("a value within the range of {dtype}")))
}

fn two_numbers(name: &'static str) -> Error {
    Error::value(name, "arguments", "two numbers", "at least one tensor")
}

/// A number in main memory goes to where the other operand is.
#[track_caller]
fn beside(a: &Tensor, other: &Tensor) -> Result<Tensor> {
    let moves = a.rank() == 0 && a.device() != other.device() && a.device().is_cpu();
    if moves { a.to_device(other.device()) } else { Ok(a.clone()) }
}

/// Two tensors broadcast and promoted to each other.
#[track_caller]
pub(crate) fn pair(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let (dtype, shape) = (common_dtype(op, a, b)?, a.shape().broadcast(b.shape(), op)?);
    let (a, b) = (&beside(a, b)?, &beside(b, a)?);
    Ok((a.to_dtype(dtype)?.broadcast_as(&shape)?, b.to_dtype(dtype)?.broadcast_as(&shape)?))
}
