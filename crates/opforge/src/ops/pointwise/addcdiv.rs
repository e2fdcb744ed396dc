//! `addcdiv(input, tensor1, tensor2) = input + value * tensor1 / tensor2`.

use opforge_tile::TernaryFn;

use crate::functional as f;
use crate::ops::prelude::*;

/// `a + value * b / c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct AddQuotient {
    value: Number,
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

/// `input + value * tensor1 / tensor2`, in the dtype that the three promote to.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::addcdiv(&x, &x, &x, 2i64.into())?.to_vec1::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, value = Scalar::Int(1), out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, AddQuotient)]
pub fn addcdiv(input: &Tensor, tensor1: &Tensor, tensor2: &Tensor, value: Scalar) -> Result<Tensor> {
    let [input, tensor1, tensor2] = f::together(OP, [input, tensor1, tensor2])?;
    let tensors = [&input, &tensor1, &tensor2];
    if is_fused(tensors) && !matches!(value, Scalar::Complex(..)) {
        return dispatch_to(&TernaryOp(AddQuotient { value: value.into() }), &tensors, out);
    }
    f::add((&input).into(), (&f::div((&tensor1).into(), (&tensor2).into(), None)?).into(), value)
}

fn samples() -> Vec<Sample> {
    ternary_samples(AddQuotient { value: 0.75.into() }, 0.5..2.0, |a, b, c| a + 0.75 * b / c)
}
