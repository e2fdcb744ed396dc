//! Second names of functions, as Python knows them.

use crate::functional as f;
use crate::ops::prelude::*;

functions! {
    absolute, negative, fix, sgn, arccos, arcsin, arctan, arccosh, arcsinh, arctanh, expit, psi, gammaln, gammainc,
    gammaincc, modified_bessel_i0, modified_bessel_i1, polygamma_method, greater, greater_equal, less, less_equal,
    not_equal, multiply, arctan2, subtract, divide, true_divide, clip, trapz, trapz_spaced, multigammaln,
    special_softmax, special_log_softmax,
}

/// Another name of [`abs`](fn@crate::functional::abs).
#[function]
#[python(torch, method, in_place)]
pub fn absolute(input: &Tensor) -> Result<Tensor> {
    f::abs(input)
}

/// Another name of [`neg`](fn@crate::functional::neg).
#[function]
#[python(torch, method, in_place)]
pub fn negative(input: &Tensor) -> Result<Tensor> {
    f::neg(input)
}

/// Another name of [`trunc`](fn@crate::functional::trunc).
#[function]
#[python(torch, method, in_place)]
pub fn fix(input: &Tensor) -> Result<Tensor> {
    f::trunc(input)
}

/// Another name of [`sign`](fn@crate::functional::sign).
#[function]
#[python(torch, method, in_place)]
pub fn sgn(input: &Tensor) -> Result<Tensor> {
    f::sign(input)
}

/// Another name of [`acos`](fn@crate::functional::acos).
#[function]
#[python(torch, method, in_place)]
pub fn arccos(input: &Tensor) -> Result<Tensor> {
    f::acos(input)
}

/// Another name of [`asin`](fn@crate::functional::asin).
#[function]
#[python(torch, method, in_place)]
pub fn arcsin(input: &Tensor) -> Result<Tensor> {
    f::asin(input)
}

/// Another name of [`atan`](fn@crate::functional::atan).
#[function]
#[python(torch, method, in_place)]
pub fn arctan(input: &Tensor) -> Result<Tensor> {
    f::atan(input)
}

/// Another name of [`acosh`](fn@crate::functional::acosh).
#[function]
#[python(torch, method, in_place)]
pub fn arccosh(input: &Tensor) -> Result<Tensor> {
    f::acosh(input)
}

/// Another name of [`asinh`](fn@crate::functional::asinh).
#[function]
#[python(torch, method, in_place)]
pub fn arcsinh(input: &Tensor) -> Result<Tensor> {
    f::asinh(input)
}

/// Another name of [`atanh`](fn@crate::functional::atanh).
#[function]
#[python(torch, method, in_place)]
pub fn arctanh(input: &Tensor) -> Result<Tensor> {
    f::atanh(input)
}

/// Another name of [`sigmoid`](fn@crate::functional::sigmoid).
#[function]
#[python(special)]
pub fn expit(input: &Tensor) -> Result<Tensor> {
    f::sigmoid(input)
}

/// Another name of [`digamma`](fn@crate::functional::digamma).
#[function]
#[python(special)]
pub fn psi(input: &Tensor) -> Result<Tensor> {
    f::digamma(input)
}

/// Another name of [`lgamma`](fn@crate::functional::lgamma).
#[function]
#[python(special)]
pub fn gammaln(input: &Tensor) -> Result<Tensor> {
    f::lgamma(input)
}

/// Another name of [`igamma`](fn@crate::functional::igamma).
#[function]
#[python(special)]
pub fn gammainc(input: Operand, other: Operand) -> Result<Tensor> {
    f::igamma(input, other)
}

/// Another name of [`igammac`](fn@crate::functional::igammac).
#[function]
#[python(special)]
pub fn gammaincc(input: Operand, other: Operand) -> Result<Tensor> {
    f::igammac(input, other)
}

/// Another name of [`i0`](fn@crate::functional::i0).
#[function]
#[python(special)]
pub fn modified_bessel_i0(input: &Tensor) -> Result<Tensor> {
    f::i0(input)
}

/// Another name of [`i1`](fn@crate::functional::i1).
#[function]
#[python(special)]
pub fn modified_bessel_i1(input: &Tensor) -> Result<Tensor> {
    f::i1(input)
}

/// Another name of [`polygamma`](fn@crate::functional::polygamma).
///
/// # Errors
/// As [`polygamma`](fn@crate::functional::polygamma).
#[function]
#[python(method, in_place, name = "polygamma")]
pub fn polygamma_method(input: &Tensor, n: i64) -> Result<Tensor> {
    f::polygamma(n, input)
}

/// Another name of [`gt`](fn@crate::functional::gt).
#[function]
#[python(torch, method, in_place)]
pub fn greater(input: Operand, other: Operand) -> Result<Tensor> {
    f::gt(input, other)
}

/// Another name of [`ge`](fn@crate::functional::ge).
#[function]
#[python(torch, method, in_place)]
pub fn greater_equal(input: Operand, other: Operand) -> Result<Tensor> {
    f::ge(input, other)
}

/// Another name of [`lt`](fn@crate::functional::lt).
#[function]
#[python(torch, method, in_place)]
pub fn less(input: Operand, other: Operand) -> Result<Tensor> {
    f::lt(input, other)
}

/// Another name of [`le`](fn@crate::functional::le).
#[function]
#[python(torch, method, in_place)]
pub fn less_equal(input: Operand, other: Operand) -> Result<Tensor> {
    f::le(input, other)
}

/// Another name of [`ne`](fn@crate::functional::ne).
#[function]
#[python(torch, method, in_place)]
pub fn not_equal(input: Operand, other: Operand) -> Result<Tensor> {
    f::ne(input, other)
}

/// Another name of [`mul`](fn@crate::functional::mul).
#[function]
#[python(torch, method, in_place)]
pub fn multiply(input: Operand, other: Operand) -> Result<Tensor> {
    f::mul(input, other)
}

/// Another name of [`atan2`](fn@crate::functional::atan2).
#[function]
#[python(torch, method, in_place)]
pub fn arctan2(input: Operand, other: Operand) -> Result<Tensor> {
    f::atan2(input, other)
}

/// Another name of [`sub`](fn@crate::functional::sub).
#[function(*, alpha = Scalar::Int(1))]
#[python(torch, method, in_place)]
pub fn subtract(input: Operand, other: Operand, alpha: Scalar) -> Result<Tensor> {
    f::sub(input, other, alpha)
}

/// Another name of [`div`](fn@crate::functional::div).
#[function(*, rounding_mode = None)]
#[python(torch, method, in_place)]
pub fn divide(input: Operand, other: Operand, rounding_mode: Option<&str>) -> Result<Tensor> {
    f::div(input, other, rounding_mode)
}

/// [`div`](fn@crate::functional::div) without rounding.
#[function]
#[python(torch, method, in_place)]
pub fn true_divide(input: Operand, other: Operand) -> Result<Tensor> {
    f::div(input, other, None)
}

/// Another name of [`clamp`](fn@crate::functional::clamp).
#[function(min = None, max = None)]
#[python(torch, method, in_place)]
pub fn clip(input: &Tensor, min: Option<Operand>, max: Option<Operand>) -> Result<Tensor> {
    f::clamp(input, min, max)
}

/// Another name of [`trapezoid`](fn@crate::functional::trapezoid).
///
/// # Errors
/// As [`trapezoid`](fn@crate::functional::trapezoid).
#[function(*, dim = -1)]
#[python(torch)]
pub fn trapz(y: &Tensor, x: &Tensor, dim: i64) -> Result<Tensor> {
    f::trapezoid(y, x, dim)
}

/// Another name of [`trapezoid_spaced`](fn@crate::functional::trapezoid_spaced).
///
/// # Errors
/// As [`trapezoid_spaced`](fn@crate::functional::trapezoid_spaced).
#[function(*, dx = 1.0, dim = -1)]
#[python(torch, name = "trapz")]
pub fn trapz_spaced(y: &Tensor, dx: f64, dim: i64) -> Result<Tensor> {
    f::trapezoid_spaced(y, dx, dim)
}

/// Another name of [`mvlgamma`](fn@crate::functional::mvlgamma).
///
/// # Errors
/// As [`mvlgamma`](fn@crate::functional::mvlgamma).
#[function]
#[python(special)]
pub fn multigammaln(input: &Tensor, p: i64) -> Result<Tensor> {
    f::mvlgamma(input, p)
}

/// Another name of [`softmax`](fn@crate::functional::softmax).
///
/// # Errors
/// As [`softmax`](fn@crate::functional::softmax).
#[function(*, dtype = None)]
#[python(special, name = "softmax")]
pub fn special_softmax(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    f::softmax(input, dim, dtype)
}

/// Another name of [`log_softmax`](fn@crate::functional::log_softmax).
///
/// # Errors
/// As [`log_softmax`](fn@crate::functional::log_softmax).
#[function(*, dtype = None)]
#[python(special, name = "log_softmax")]
pub fn special_log_softmax(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    f::log_softmax(input, dim, dtype)
}
