//! `glu(x) = a sigmoid(b)` of the halves `a` and `b` of a dimension.

use opforge_tile::TernaryFn;

use crate::functional as f;
use crate::ops::prelude::*;

/// `a sigmoid(b)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct Gated;

/// The gradient of [`Gated`] for `b`, where `grad` comes in: `grad a sigmoid'(b)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct GateGrad;

impl BinaryFn for Gated {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a * math::sigmoid(b)
    }
}

impl TernaryFn for GateGrad {
    const PICOSECONDS: usize = 300;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V, grad: V) -> V {
        let gate = math::sigmoid(b);
        grad * a * (gate * (V::splat(1.0) - gate))
    }
}

impl Binary for Gated {
    const NAME: &'static str = "glu";
    const READS: [Saves; 2] = [Saves::inputs([1]), Saves::INPUTS];

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => gated(&pair.grad()?, &pair.rhs()?),
            Side::Right => dispatch1(&TernaryOp(GateGrad), &[&pair.lhs()?, &pair.rhs()?, &pair.grad()?]),
        }
    }

    fn by_parts(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        a.mul(&b.sigmoid()?)
    }
}

impl Ternary for GateGrad {
    const NAME: &'static str = "glu_grad";
    const READS: [Saves; 3] = [Saves::inputs([1, 2]), Saves::INPUTS, Saves::inputs([0, 1])];

    fn derivative(&self, ctx: &Backward<'_>, i: usize) -> Result<Tensor> {
        let (grad, b) = (ctx.grad(0)?, ctx.input(1)?);
        let slope = |a: &Tensor, grad: &Tensor| dispatch1(&TernaryOp(GateGrad), &[a, &b, grad]);
        match i {
            0 => slope(&grad, &ctx.input(2)?),
            2 => slope(&ctx.input(0)?, &grad),
            _ => {
                let bend = b.sigmoid()?.affine(-2.0, 1.0)?;
                slope(&ctx.input(0)?, &ctx.input(2)?)?.broadcast_mul(&bend)?.broadcast_mul(&grad)
            }
        }
    }
}

#[track_caller]
fn gated(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(Gated, a.into(), b.into(), Rules::BROADCAST)
}

/// The first half of a dimension times the sigmoid of the second. Source: Dauphin and others, "Language Modeling with Gated Convolutional
/// Networks" (2016).
///
/// # Errors
/// For a dimension of odd length.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32, 0.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::glu(&x, -1)?.to_vec1::<f32>()?, [2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = -1)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, Gated, GateGrad)]
pub fn glu(input: &Tensor, dim: i64) -> Result<Tensor> {
    ensure(input.rank() > 0, || f::no_dims(OP))?;
    let dim = normalize_dim(dim, input.rank(), OP)?;
    let len = input.dims()[dim];
    ensure(len.is_multiple_of(2), || wrong_shape(OP, "input", input.shape(), format!("dim {dim} of even length")))?;
    gated(&input.narrow(dim, 0, len / 2)?, &input.narrow(dim, len / 2, len / 2)?)
}

fn samples() -> Vec<Sample> {
    fn gate(b: f64) -> f64 {
        1.0 / (1.0 + (-b).exp())
    }
    let mut samples = pair_samples(BinaryOp(Gated), &(-2.0..2.0), &(-3.0..3.0), |a, b| a * gate(b));
    samples.extend(ternary_samples(GateGrad, -2.0..2.0, |a, b, grad| grad * a * gate(b) * (1.0 - gate(b))));
    samples
}
