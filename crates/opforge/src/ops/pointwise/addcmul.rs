//! `addcmul(input, tensor1, tensor2) = input + value * tensor1 * tensor2`.

use opforge_tile::TernaryFn;

use crate::functional as f;
use crate::ops::prelude::*;

/// `a + value * b * c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct AddProduct {
    value: Number,
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

/// `input + value * tensor1 * tensor2`, in the dtype that the three promote to.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::addcmul(&x, &x, &x, 2i64.into())?.to_vec1::<f32>()?, [3.0, 10.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, value = Scalar::Int(1), out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, AddProduct)]
pub fn addcmul(input: &Tensor, tensor1: &Tensor, tensor2: &Tensor, value: Scalar) -> Result<Tensor> {
    let [input, tensor1, tensor2] = f::together(OP, [input, tensor1, tensor2])?;
    let tensors = [&input, &tensor1, &tensor2];
    if is_fused(tensors) && !matches!(value, Scalar::Complex(..)) {
        return dispatch_to(&TernaryOp(AddProduct { value: value.into() }), &tensors, out);
    }
    f::add((&input).into(), (&f::mul((&tensor1).into(), (&tensor2).into())?).into(), value)
}

fn samples() -> Vec<Sample> {
    ternary_samples(AddProduct { value: 0.75.into() }, -2.0..2.0, |a, b, c| a + 0.75 * b * c)
}
