//! The second operand of sums and differences, scaled.

use opforge_core::Kind;

use crate::family::converted;
use crate::ops::pointwise::mul::Mul;
use crate::ops::prelude::*;

/// `a + factor * b`, under the name of what it is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Plus<const DIFFERENCE: bool> {
    /// What `b` is multiplied by.
    pub factor: Number,
}

impl<const DIFFERENCE: bool> BinaryFn for Plus<DIFFERENCE> {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        b.mul_add(V::splat(self.factor.to_f64()), a)
    }
}

impl<const DIFFERENCE: bool> Binary for Plus<DIFFERENCE> {
    const NAME: &'static str = if DIFFERENCE { "sub" } else { "add" };
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => pair.grad(),
            Side::Right => pair.grad()?.affine(self.factor.to_f64(), 0.0),
        }
    }
}

/// `f(a, alpha * b)`, the product in b's dtype; of floats of one dtype it is not rounded. `fused` is that with a factor instead of alpha.
#[track_caller]
pub(crate) fn binary_scaled<F: Binary, const DIFFERENCE: bool>(
    f: F,
    fused: impl FnOnce(f64) -> Plus<DIFFERENCE>,
    a: Operand<'_>,
    b: Operand<'_>,
    alpha: Scalar,
    out: Out<'_>,
) -> Result<Tensor> {
    match (b, alpha) {
        (b, Scalar::Int(1)) => binary_to(f, a, b, Rules::TORCH, out),
        (Operand::Tensor(b), alpha) if alpha.kind() < Kind::Complex && floats_of_one_dtype(&a, b) => {
            binary_to(fused(alpha.to_f64()), a, b.into(), Rules::TORCH, out)
        }
        (Operand::Tensor(b), alpha) => {
            // A negative factor of unsigned numbers wraps; others must fit.
            let alpha = if alpha.kind() == Kind::Int { converted(F::NAME, alpha, b.dtype())? } else { alpha };
            let scaled = binary(Mul, b.into(), alpha.into(), Rules::BROADCAST)?;
            binary_to(f, a, (&scaled).into(), Rules::TORCH, out)
        }
        (Operand::Scalar(b), alpha) => binary_to(f, a, times(F::NAME, b, alpha)?.into(), Rules::TORCH, out),
    }
}

fn floats_of_one_dtype(a: &Operand<'_>, b: &Tensor) -> bool {
    b.dtype().is_float() && matches!(a, Operand::Tensor(a) if a.dtype() == b.dtype())
}

/// The product of two numbers.
fn times(name: &'static str, a: Scalar, b: Scalar) -> Result<Scalar> {
    if a.kind().max(b.kind()) >= Kind::Float {
        return Ok(Scalar::Float(a.to_f64() * b.to_f64()));
    }
    let too_large = || Error::value(name, "alpha", b, "a number whose product with other fits 64 bits");
    a.to_i64().checked_mul(b.to_i64()).map(Scalar::Int).ok_or_else(too_large)
}
