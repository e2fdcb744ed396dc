//! The second operand of sums and differences, scaled.

use opforge_core::Kind;

use crate::family::converted;
use crate::ops::pointwise::mul::Mul;
use crate::ops::prelude::*;

/// `f(a, alpha * b)`, the product in b's dtype.
#[track_caller]
pub(crate) fn binary_scaled<F: Binary>(f: F, a: Operand<'_>, b: Operand<'_>, alpha: Scalar) -> Result<Tensor> {
    match (b, alpha) {
        (b, Scalar::Int(1)) => binary(f, a, b, Rules::TORCH),
        (Operand::Tensor(b), alpha) => {
            // A negative factor of unsigned numbers wraps; others must fit.
            let alpha = if alpha.kind() == Kind::Int { converted(F::NAME, alpha, b.dtype())? } else { alpha };
            let scaled = binary(Mul, b.into(), alpha.into(), Rules::BROADCAST)?;
            binary(f, a, (&scaled).into(), Rules::TORCH)
        }
        (Operand::Scalar(b), alpha) => binary(f, a, times(F::NAME, b, alpha)?.into(), Rules::TORCH),
    }
}

/// The product of two numbers.
fn times(name: &'static str, a: Scalar, b: Scalar) -> Result<Scalar> {
    if a.kind().max(b.kind()) >= Kind::Float {
        return Ok(Scalar::Float(a.to_f64() * b.to_f64()));
    }
    let too_large = || Error::value(name, "alpha", b, "a number whose product with other fits 64 bits");
    a.to_i64().checked_mul(b.to_i64()).map(Scalar::Int).ok_or_else(too_large)
}
