//! Second names of functions, as Python knows them.

use crate::functional as f;
use crate::operator::prelude::*;

functions! {
    /// Another name of [`abs`](fn@crate::functional::abs).
    #[python(torch, method, in_place)]
    pub fn absolute(input: &Tensor) -> Result<Tensor> {
        f::abs(input)
    }

    /// Another name of [`neg`](fn@crate::functional::neg).
    #[python(torch, method, in_place)]
    pub fn negative(input: &Tensor) -> Result<Tensor> {
        f::neg(input)
    }

    /// Another name of [`trunc`](fn@crate::functional::trunc).
    #[python(torch, method, in_place)]
    pub fn fix(input: &Tensor) -> Result<Tensor> {
        f::trunc(input)
    }

    /// Another name of [`sign`](fn@crate::functional::sign).
    #[python(torch, method, in_place)]
    pub fn sgn(input: &Tensor) -> Result<Tensor> {
        f::sign(input)
    }

    /// Another name of [`acos`](fn@crate::functional::acos).
    #[python(torch, method, in_place)]
    pub fn arccos(input: &Tensor) -> Result<Tensor> {
        f::acos(input)
    }

    /// Another name of [`asin`](fn@crate::functional::asin).
    #[python(torch, method, in_place)]
    pub fn arcsin(input: &Tensor) -> Result<Tensor> {
        f::asin(input)
    }

    /// Another name of [`atan`](fn@crate::functional::atan).
    #[python(torch, method, in_place)]
    pub fn arctan(input: &Tensor) -> Result<Tensor> {
        f::atan(input)
    }

    /// Another name of [`acosh`](fn@crate::functional::acosh).
    #[python(torch, method, in_place)]
    pub fn arccosh(input: &Tensor) -> Result<Tensor> {
        f::acosh(input)
    }

    /// Another name of [`asinh`](fn@crate::functional::asinh).
    #[python(torch, method, in_place)]
    pub fn arcsinh(input: &Tensor) -> Result<Tensor> {
        f::asinh(input)
    }

    /// Another name of [`atanh`](fn@crate::functional::atanh).
    #[python(torch, method, in_place)]
    pub fn arctanh(input: &Tensor) -> Result<Tensor> {
        f::atanh(input)
    }

    /// Another name of [`sigmoid`](fn@crate::functional::sigmoid).
    #[python(special)]
    pub fn expit(input: &Tensor) -> Result<Tensor> {
        f::sigmoid(input)
    }

    /// Another name of [`digamma`](fn@crate::functional::digamma).
    #[python(special)]
    pub fn psi(input: &Tensor) -> Result<Tensor> {
        f::digamma(input)
    }

    /// Another name of [`lgamma`](fn@crate::functional::lgamma).
    #[python(special)]
    pub fn gammaln(input: &Tensor) -> Result<Tensor> {
        f::lgamma(input)
    }

    /// Another name of [`igamma`](fn@crate::functional::igamma).
    #[python(special)]
    pub fn gammainc(input: Operand, other: Operand) -> Result<Tensor> {
        f::igamma(input, other)
    }

    /// Another name of [`igammac`](fn@crate::functional::igammac).
    #[python(special)]
    pub fn gammaincc(input: Operand, other: Operand) -> Result<Tensor> {
        f::igammac(input, other)
    }

    /// Another name of [`i0`](fn@crate::functional::i0).
    #[python(special)]
    pub fn modified_bessel_i0(input: &Tensor) -> Result<Tensor> {
        f::i0(input)
    }

    /// Another name of [`i1`](fn@crate::functional::i1).
    #[python(special)]
    pub fn modified_bessel_i1(input: &Tensor) -> Result<Tensor> {
        f::i1(input)
    }

    /// Another name of [`polygamma`](fn@crate::functional::polygamma).
    ///
    /// # Errors
    /// As [`polygamma`](fn@crate::functional::polygamma).
    #[python(method, in_place, name = "polygamma")]
    pub fn polygamma_method(input: &Tensor, n: i64) -> Result<Tensor> {
        f::polygamma(n, input)
    }

    /// Another name of [`gt`](fn@crate::functional::gt).
    #[python(torch, method, in_place)]
    pub fn greater(input: Operand, other: Operand) -> Result<Tensor> {
        f::gt(input, other)
    }

    /// Another name of [`ge`](fn@crate::functional::ge).
    #[python(torch, method, in_place)]
    pub fn greater_equal(input: Operand, other: Operand) -> Result<Tensor> {
        f::ge(input, other)
    }

    /// Another name of [`lt`](fn@crate::functional::lt).
    #[python(torch, method, in_place)]
    pub fn less(input: Operand, other: Operand) -> Result<Tensor> {
        f::lt(input, other)
    }

    /// Another name of [`le`](fn@crate::functional::le).
    #[python(torch, method, in_place)]
    pub fn less_equal(input: Operand, other: Operand) -> Result<Tensor> {
        f::le(input, other)
    }

    /// Another name of [`ne`](fn@crate::functional::ne).
    #[python(torch, method, in_place)]
    pub fn not_equal(input: Operand, other: Operand) -> Result<Tensor> {
        f::ne(input, other)
    }

    /// Another name of [`mul`](fn@crate::functional::mul).
    #[python(torch, method, in_place)]
    pub fn multiply(input: Operand, other: Operand) -> Result<Tensor> {
        f::mul(input, other)
    }

    /// Another name of [`atan2`](fn@crate::functional::atan2).
    #[python(torch, method, in_place)]
    pub fn arctan2(input: Operand, other: Operand) -> Result<Tensor> {
        f::atan2(input, other)
    }

    /// Another name of [`sub`](fn@crate::functional::sub).
    #[python(torch, method, in_place)]
    pub fn subtract(input: Operand, other: Operand; alpha: Scalar = Scalar::Int(1)) -> Result<Tensor> {
        f::sub(input, other, alpha)
    }

    /// Another name of [`div`](fn@crate::functional::div).
    #[python(torch, method, in_place)]
    pub fn divide(input: Operand, other: Operand; rounding_mode: Option<&str> = None) -> Result<Tensor> {
        f::div(input, other, rounding_mode)
    }

    /// [`div`](fn@crate::functional::div) without rounding.
    #[python(torch, method, in_place)]
    pub fn true_divide(input: Operand, other: Operand) -> Result<Tensor> {
        f::div(input, other, None)
    }

    /// Another name of [`clamp`](fn@crate::functional::clamp).
    #[python(torch, method, in_place)]
    pub fn clip(input: &Tensor, min: Option<Operand> = None, max: Option<Operand> = None) -> Result<Tensor> {
        f::clamp(input, min, max)
    }

    /// Another name of [`trapezoid`](fn@crate::functional::trapezoid).
    ///
    /// # Errors
    /// As [`trapezoid`](fn@crate::functional::trapezoid).
    #[python(torch)]
    pub fn trapz(y: &Tensor, x: &Tensor; dim: i64 = -1) -> Result<Tensor> {
        f::trapezoid(y, x, dim)
    }

    /// Another name of [`trapezoid_spaced`](fn@crate::functional::trapezoid_spaced).
    ///
    /// # Errors
    /// As [`trapezoid_spaced`](fn@crate::functional::trapezoid_spaced).
    #[python(torch, name = "trapz")]
    pub fn trapz_spaced(y: &Tensor; dx: f64 = 1.0, dim: i64 = -1) -> Result<Tensor> {
        f::trapezoid_spaced(y, dx, dim)
    }

    /// Another name of [`mvlgamma`](fn@crate::functional::mvlgamma).
    ///
    /// # Errors
    /// As [`mvlgamma`](fn@crate::functional::mvlgamma).
    #[python(special)]
    pub fn multigammaln(input: &Tensor, p: i64) -> Result<Tensor> {
        f::mvlgamma(input, p)
    }

    /// Another name of [`softmax`](fn@crate::functional::softmax).
    ///
    /// # Errors
    /// As [`softmax`](fn@crate::functional::softmax).
    #[python(special, name = "softmax")]
    pub fn special_softmax(input: &Tensor, dim: i64; dtype: Option<DType> = None) -> Result<Tensor> {
        f::softmax(input, dim, dtype)
    }

    /// Another name of [`log_softmax`](fn@crate::functional::log_softmax).
    ///
    /// # Errors
    /// As [`log_softmax`](fn@crate::functional::log_softmax).
    #[python(special, name = "log_softmax")]
    pub fn special_log_softmax(input: &Tensor, dim: i64; dtype: Option<DType> = None) -> Result<Tensor> {
        f::log_softmax(input, dim, dtype)
    }
}
