//! `where_cond(cond, a, b)`: `a` where the condition is true, else `b`.

use crate::arguments::default_dtype;
use crate::autograd::sum_to;
use crate::ops::prelude::*;

/// The operator of [`where_cond`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct WhereCond;

impl Plain for WhereCond {
    const NAME: &'static str = "where_cond";
    const INPUTS: usize = 3;
    const SAVES: Saves = Saves::inputs([0]);
    const OVERWRITES: u32 = u32::MAX;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let [cond, a, b] = [inputs[0], inputs[1], inputs[2]];
        if !matches!(cond.dtype, DType::Bool | DType::U8) {
            return Err(Error::dtype(Self::NAME, "cond", cond.dtype, "bool or u8"));
        }
        check_dtypes(Self::NAME, a, b)?;
        let shape = a.shape().broadcast(b.shape(), Self::NAME)?.broadcast(cond.shape(), Self::NAME)?;
        Ok(smallvec![Meta { dtype: a.dtype, layout: result_layout(inputs, &shape) }])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs.iter().map(|m| m.rank()).max().unwrap_or(0))
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Tile(Tile::select())
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (cond, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let zero = Tensor::zeros((), grad.dtype(), grad.device())?;
        let a = ctx.when(1, || sum_to(&choose(&cond, &grad, &zero)?, ctx.input_meta(1).shape()))?;
        let b = ctx.when(2, || sum_to(&choose(&cond, &zero, &grad)?, ctx.input_meta(2).shape()))?;
        Ok(smallvec![None, a, b])
    }
}

#[track_caller]
fn choose(cond: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    dispatch1(&WhereCond, &[cond, a, b])
}

/// `input` where the condition (bool or u8) is true, else `other`; tensors are broadcast, `input` and `other` promoted. Either may be a number.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-1f32, 2.0], &Device::Cpu)?;
/// let positive = x.gt(0.0)?;
/// assert_eq!(opforge::functional::where_cond(&positive, (&x).into(), 0.0.into())?.to_vec1::<f32>()?, [0.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, name = "where")]
#[operator(DTypes::ALL, samples, WhereCond)]
pub fn where_cond(condition: &Tensor, input: Operand, other: Operand) -> Result<Tensor> {
    where_to(condition, input, other, out)
}

/// [`where_cond`] with a destination.
#[track_caller]
pub(crate) fn where_to(condition: &Tensor, input: Operand, other: Operand, out: Out<'_>) -> Result<Tensor> {
    let op = WhereCond::NAME;
    let dtype = match (input, other) {
        (Operand::Tensor(a), Operand::Tensor(b)) => common_dtype(op, a, b)?,
        (Operand::Tensor(t), Operand::Scalar(s)) | (Operand::Scalar(s), Operand::Tensor(t)) => {
            dtype_with(op, t, s.kind())?
        }
        (Operand::Scalar(a), Operand::Scalar(b)) => opforge_core::scalar_type(a.kind().max(b.kind()), default_dtype()),
    };
    let tensor = |operand: Operand| match operand {
        Operand::Tensor(t) => t.to_dtype(dtype),
        Operand::Scalar(s) => Tensor::full_scalar(s, (), dtype, condition.device()),
    };
    dispatch_to(&WhereCond, &[condition, &tensor(input)?, &tensor(other)?], out)
}

impl Tensor {
    /// `on_true` where this condition (bool or integers) is not 0, else `on_false`; all of one shape.
    ///
    /// # Errors
    /// When shapes or dtypes differ.
    #[track_caller]
    pub fn where_cond(&self, on_true: &Tensor, on_false: &Tensor) -> Result<Tensor> {
        for other in [on_true, on_false] {
            if other.shape() != self.shape() {
                return Err(Error::shapes("where_cond", self.shape(), other.shape(), "equal shapes"));
            }
        }
        if self.dtype().is_int() && self.dtype() != DType::U8 {
            return choose(&self.ne(0i64)?, on_true, on_false);
        }
        choose(self, on_true, on_false)
    }
}

fn samples() -> Vec<Sample> {
    let sample = |shapes: [&[usize]; 3], out: &[usize]| {
        let [cond, a, b] = shapes;
        let inputs = vec![Array::truths(cond), Array::spread(a, -2.0..2.0), Array::spread(b, 3.0..5.0)];
        let out = out.to_vec();
        Sample::new(WhereCond, inputs, move |x| {
            Array::from_fn(
                &out,
                |i| if x[0].at_broadcast(i) != 0.0 { x[1].at_broadcast(i) } else { x[2].at_broadcast(i) },
            )
        })
    };
    vec![sample([&[3, 4]; 3], &[3, 4]), sample([&[3, 1], &[4], &[]], &[3, 4]), sample([&[], &[5], &[5]], &[5])]
}
