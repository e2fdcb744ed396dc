//! The second operand of sums and differences, scaled.

use opforge_core::Kind;

use crate::family::{common_dtype, dtype_with};
use crate::ops::pointwise::mul::Mul;
use crate::ops::prelude::*;

/// `a + factor * b`, under the name of what it is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub(crate) struct Plus<const DIFFERENCE: bool> {
    /// What `b` is multiplied by.
    pub factor: Number,
}

impl<const DIFFERENCE: bool> Plus<DIFFERENCE> {
    /// That of `a + alpha * b` or `a - alpha * b` in a dtype, which has the number alpha.
    fn of(alpha: Scalar, dtype: DType) -> Self {
        let factor = match (dtype.is_float(), DIFFERENCE) {
            (true, false) => Scalar::Float(alpha.to_f64()),
            (true, true) => Scalar::Float(-alpha.to_f64()),
            (false, false) => Scalar::Int(alpha.to_i64()),
            (false, true) => Scalar::Int(alpha.to_i64().wrapping_neg()),
        };
        Plus { factor: factor.into() }
    }
}

impl<const DIFFERENCE: bool> BinaryFn for Plus<DIFFERENCE> {
    const INT: bool = true;
    const BOOL: bool = !DIFFERENCE;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        b.mul_add(V::splat(self.factor.to_f64()), a)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.wrapping_add(b.wrapping_mul(I::from_i64(self.factor.to_i64())))
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        if self.factor.to_i64() == 0 { a } else { a | b }
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

/// `f(a, alpha * b)`, a sum or a difference, the product in the result's dtype. In one pass where a and b have one dtype; there products of floats are
/// not rounded.
#[track_caller]
pub(crate) fn binary_scaled<F: Binary, const DIFFERENCE: bool>(
    f: F,
    a: Operand<'_>,
    b: Operand<'_>,
    alpha: Scalar,
    out: Out<'_>,
) -> Result<Tensor> {
    match (b, alpha) {
        (b, Scalar::Int(1)) => binary_to(f, a, b, Rules::TORCH, out),
        (Operand::Tensor(b), alpha) => {
            let dtype = match a {
                Operand::Tensor(a) => common_dtype(F::NAME, a, b)?,
                Operand::Scalar(a) => dtype_with(F::NAME, b, a.kind())?,
            };
            let b = &b.to_dtype(dtype)?;
            // A negative factor of unsigned numbers wraps; others must fit.
            let alpha = if alpha.kind() == Kind::Int { converted(F::NAME, alpha, b.dtype())? } else { alpha };
            if is_one_pass(&a, b, alpha) {
                return binary_to(Plus::<DIFFERENCE>::of(alpha, b.dtype()), a, b.into(), Rules::TORCH, out);
            }
            let scaled = binary(Mul, b.into(), alpha.into(), Rules::BROADCAST)?;
            binary_to(f, a, (&scaled).into(), Rules::TORCH, out)
        }
        (Operand::Scalar(b), alpha) => binary_to(f, a, times(F::NAME, b, alpha)?.into(), Rules::TORCH, out),
    }
}

fn is_one_pass(a: &Operand<'_>, b: &Tensor, alpha: Scalar) -> bool {
    let fits = match b.dtype() {
        dtype if dtype.is_float() => alpha.kind() < Kind::Complex,
        dtype => dtype.is_int() && alpha.kind() == Kind::Int,
    };
    fits && matches!(a, Operand::Tensor(a) if a.dtype() == b.dtype())
}

/// The product of two numbers.
fn times(name: &'static str, a: Scalar, b: Scalar) -> Result<Scalar> {
    let kind = a.kind().max(b.kind());
    if kind == Kind::Complex {
        let ((a, ai), (b, bi)) = (a.to_complex(), b.to_complex());
        return Ok(Scalar::Complex(a * b - ai * bi, a * bi + ai * b));
    }
    if kind == Kind::Float {
        return Ok(Scalar::Float(a.to_f64() * b.to_f64()));
    }
    let too_large = || Error::value(name, "alpha", b, "a number whose product with other fits 64 bits");
    a.to_i64().checked_mul(b.to_i64()).map(Scalar::Int).ok_or_else(too_large)
}
