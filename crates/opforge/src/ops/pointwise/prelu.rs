//! `prelu(x, weight)`: `x` where it is positive, else `weight * x`.

use crate::ops::prelude::*;

/// The tile function of [`prelu`](fn@prelu).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Prelu;

impl BinaryFn for Prelu {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V, weight: V) -> V {
        V::select(x.gt(V::splat(0.0)), x, x * weight)
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I, weight: I) -> I {
        I::select(x.gt(I::from_i64(0)), x, x.wrapping_mul(weight))
    }
}

impl Binary for Prelu {
    const NAME: &'static str = "prelu";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (x, grad) = (pair.lhs()?, pair.grad()?);
        let positive = x.gt(0.0)?.broadcast_as(grad.shape())?;
        match side {
            Side::Left => positive.where_cond(&grad, &grad.broadcast_mul(&pair.rhs()?)?),
            Side::Right => positive.where_cond(&grad.zeros_like()?, &grad.broadcast_mul(&x)?),
        }
    }
}

/// `x` where it is positive, else `weight * x`; `weight` has one element, or one for each index of the second dimension.
///
/// # Errors
/// For a weight of another shape.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[-2f32, -4.0]], &Device::Cpu)?;
/// let w = Tensor::new(&[0.5f32, 0.25], &Device::Cpu)?;
/// assert_eq!(opforge::functional::prelu(&x, &w)?.to_vec2::<f32>()?, [[-1.0, -1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, nn)]
#[operator(DTypes::NUMERIC, samples, Prelu)]
pub fn prelu(input: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let channels = input.dims().get(1).copied().unwrap_or(1);
    let count = weight.elem_count();
    ensure(weight.rank() <= 1 && (count == 1 || count == channels), || {
        wrong_shape(OP, "weight", weight.shape(), format!("[1] or [{channels}]"))
    })?;
    let mut shape = vec![1; input.rank()];
    if count != 1 {
        shape[1] = count;
    }
    binary(Prelu, input.into(), (&weight.reshape(shape)?).into(), Rules::BROADCAST)
}

fn samples() -> Vec<Sample> {
    binary_samples(Prelu, -3.0..3.0, 0.25..0.75, |x, weight| if x > 0.0 { x } else { x * weight })
}
