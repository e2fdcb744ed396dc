//! `lerp(input, end, weight) = input + weight * (end - input)`.

use opforge_tile::TernaryFn;

use crate::functional as f;
use crate::ops::prelude::*;

/// The way from `a` to `b` by the weight `w`, exact at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct Toward {
    weight: Number,
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

/// `input + weight * (end - input)`: the way from `input` to `end`, exact at both. Complex tensors may have a complex weight.
///
/// # Errors
/// For shapes that do not broadcast, and a complex weight of real tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (a, b) = (Tensor::new(&[0f32, 1.0], &Device::Cpu)?, Tensor::new(&[4f32, 3.0], &Device::Cpu)?);
/// assert_eq!(opforge::functional::lerp(&a, &b, 0.25.into())?.to_vec1::<f32>()?, [1.0, 1.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, Between, Toward)]
pub fn lerp(input: &Tensor, end: &Tensor, weight: Operand) -> Result<Tensor> {
    match weight {
        Operand::Tensor(weight) if is_fused([input, end, weight]) => {
            return dispatch_to(&TernaryOp(Between), &[input, end, weight], out);
        }
        Operand::Scalar(weight) if weight.as_real().is_none() && !input.dtype().is_complex() => {
            return Err(Error::dtype(OP, "weight", weight, "a real number, as the tensors hold"));
        }
        Operand::Scalar(weight) if is_fused([input, input, end]) => {
            return dispatch_to(&BinaryOp(Toward { weight: weight.into() }), &[input, end], out);
        }
        _ => {}
    }
    let way = f::sub(end.into(), input.into(), Scalar::Int(1))?;
    let from_start = |weight: Operand| f::add(input.into(), (&f::mul((&way).into(), weight)?).into(), Scalar::Int(1));
    let from_end = |rest: Operand| f::sub(end.into(), (&f::mul((&way).into(), rest)?).into(), Scalar::Int(1));
    match weight {
        Operand::Scalar(w) => {
            let (re, im) = w.to_complex();
            let is_near = w.as_real().unwrap_or(re.hypot(im)) < 0.5;
            let rest = w.as_real().map_or(Scalar::Complex(1.0 - re, -im), |w| (1.0 - w).into());
            if is_near { from_start(weight) } else { from_end(rest.into()) }
        }
        Operand::Tensor(w) => {
            let size = if w.dtype().is_complex() { &f::abs(w)? } else { w };
            let near = f::lt(size.into(), 0.5.into())?;
            let rest = f::rsub(weight, 1.0.into(), Scalar::Int(1))?;
            f::where_cond(&near, (&from_start(weight)?).into(), (&from_end((&rest).into())?).into())
        }
    }
}

fn samples() -> Vec<Sample> {
    fn reference(a: f64, b: f64, w: f64) -> f64 {
        if w < 0.5 { a + w * (b - a) } else { b - (1.0 - w) * (b - a) }
    }
    let mut samples = ternary_samples(Between, -2.0..2.0, reference);
    for weight in [0.25, 0.75] {
        let toward = BinaryOp(Toward { weight: weight.into() });
        samples.extend(pair_samples(toward, &(-2.0..2.0), &(-1.0..3.0), move |a, b| reference(a, b, weight)));
    }
    samples
}
