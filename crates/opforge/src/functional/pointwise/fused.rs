//! Functions of three tensors that optimizers' steps are made of, each in one pass over memory.

use opforge_tile::TernaryFn;

use crate::family::{Ternary, TernaryOp};
use crate::ops::prelude::*;

/// `a + value * b * c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct AddProduct {
    value: Scalar,
}

impl TernaryFn for AddProduct {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V, c: V) -> V {
        (b * V::splat(self.value.to_f64())).mul_add(c, a)
    }
}

impl Ternary for AddProduct {
    const NAME: &'static str = "addcmul";
    const READS: [Saves; 3] = [Saves::NOTHING, Saves::inputs([2]), Saves::inputs([1])];

    fn derivative(&self, ctx: &Backward<'_>, i: usize) -> Result<Tensor> {
        let grad = ctx.grad(0)?;
        if i == 0 {
            return Ok(grad);
        }
        grad.affine(self.value.to_f64(), 0.0)?.broadcast_mul(&ctx.input(3 - i)?)
    }
}

/// `a + value * b / c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct AddQuotient {
    value: Scalar,
}

impl TernaryFn for AddQuotient {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V, c: V) -> V {
        (b / c).mul_add(V::splat(self.value.to_f64()), a)
    }
}

impl Ternary for AddQuotient {
    const NAME: &'static str = "addcdiv";
    const READS: [Saves; 3] = [Saves::NOTHING, Saves::inputs([2]), Saves::inputs([1, 2])];

    fn derivative(&self, ctx: &Backward<'_>, i: usize) -> Result<Tensor> {
        let grad = ctx.grad(0)?;
        if i == 0 {
            return Ok(grad);
        }
        let divisor = ctx.input(2)?;
        let by_dividend = grad.affine(self.value.to_f64(), 0.0)?.broadcast_div(&divisor)?;
        if i == 1 { Ok(by_dividend) } else { by_dividend.broadcast_mul(&ctx.input(1)?.broadcast_div(&divisor)?)?.neg() }
    }
}

/// The way from `a` to `b` by the weight `w`, exact at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Between;

impl TernaryFn for Between {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V, w: V) -> V {
        let way = b - a;
        V::select(w.lt(V::splat(0.5)), way.mul_add(w, a), way.mul_add(w - V::splat(1.0), b))
    }
}

impl Ternary for Between {
    const NAME: &'static str = "lerp";
    const READS: [Saves; 3] = [Saves::inputs([2]), Saves::inputs([2]), Saves::inputs([0, 1])];

    fn derivative(&self, ctx: &Backward<'_>, i: usize) -> Result<Tensor> {
        let factor = match i {
            0 => ctx.input(2)?.affine(-1.0, 1.0)?,
            1 => ctx.input(2)?,
            _ => ctx.input(1)?.broadcast_sub(&ctx.input(0)?)?,
        };
        ctx.grad(0)?.broadcast_mul(&factor)
    }
}

/// [`Between`] with a number for a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Toward {
    weight: Scalar,
}

impl BinaryFn for Toward {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let (way, weight) = (b - a, self.weight.to_f64());
        if weight < 0.5 { way.mul_add(V::splat(weight), a) } else { way.mul_add(V::splat(weight - 1.0), b) }
    }
}

impl Binary for Toward {
    const NAME: &'static str = "lerp";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let weight = self.weight.to_f64();
        pair.grad()?.affine(if side == Side::Left { 1.0 - weight } else { weight }, 0.0)
    }
}

fn fused<F: Ternary>(f: F, tensors: [&Tensor; 3], out: Out<'_>) -> Option<Result<Tensor>> {
    let dtype = tensors[0].dtype();
    let fits = dtype.is_float() && tensors.iter().all(|t| t.dtype() == dtype);
    fits.then(|| dispatch_to(&TernaryOp(f), &tensors, out))
}

/// [`addcmul`](crate::functional::addcmul) of floats of one dtype; `None` for others.
#[track_caller]
pub(super) fn add_product(tensors: [&Tensor; 3], value: Scalar, out: Out<'_>) -> Option<Result<Tensor>> {
    if matches!(value, Scalar::Complex(..)) { None } else { fused(AddProduct { value }, tensors, out) }
}

/// [`addcdiv`](crate::functional::addcdiv) of floats of one dtype; `None` for others.
#[track_caller]
pub(super) fn add_quotient(tensors: [&Tensor; 3], value: Scalar, out: Out<'_>) -> Option<Result<Tensor>> {
    if matches!(value, Scalar::Complex(..)) { None } else { fused(AddQuotient { value }, tensors, out) }
}

/// [`lerp`](crate::functional::lerp) of floats of one dtype; `None` for others.
#[track_caller]
pub(super) fn between(input: &Tensor, end: &Tensor, weight: Operand<'_>, out: Out<'_>) -> Option<Result<Tensor>> {
    match weight {
        Operand::Tensor(weight) => fused(Between, [input, end, weight], out),
        Operand::Scalar(Scalar::Complex(..)) => None,
        Operand::Scalar(weight) => {
            let is_float = input.dtype().is_float() && input.dtype() == end.dtype();
            is_float.then(|| dispatch_to(&BinaryOp(Toward { weight }), &[input, end], out))
        }
    }
}
