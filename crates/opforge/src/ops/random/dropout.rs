//! `dropout(x, p)`: zeros at random places, the rest scaled to keep the mean.

use opforge_tile::forms::{Draws, Random};

use crate::family::{drawn_axes, next_key};
use crate::ops::prelude::*;

/// The operator of [`dropout`]: of a draw's key and a tensor. With the same key it is its own gradient, so that no mask is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Dropout {
    /// The probability that an element stays.
    pub keep: Scalar,
}

impl Plain for Dropout {
    const NAME: &'static str = "dropout";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves::inputs([0]);

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(smallvec![Meta::contiguous(inputs[1].dtype, inputs[1].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        drawn_axes(inputs, inputs[1].rank())
    }

    fn form(&self, place: &Place) -> Lowering {
        Lowering::Random(Draws { random: Random::Dropout { keep: self.keep }, portion: place.of_output(0).cloned() })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![None, Some(dropped(*self, &ctx.input(0)?, &ctx.grad(0)?)?)])
    }
}

/// What stays of a tensor, by the key of a draw.
#[track_caller]
pub fn dropped(op: Dropout, key: &Tensor, input: &Tensor) -> Result<Tensor> {
    dispatch1(&op, &[key, &input.contiguous()?])
}

/// The input with each element, independently with probability `p`, replaced by 0, the others divided by `1 - p`; the input itself outside
/// of training. With `inplace` the input itself is changed.
///
/// # Errors
/// For a probability outside of 0 to 1, and in training for tensors that are not floating-point.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones(1000, DType::F32, &Device::Cpu)?;
/// let y = opforge::functional::dropout(&x, 0.5, true, false)?.to_vec1::<f32>()?;
/// assert!(y.iter().all(|&y| y == 0.0 || y == 2.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 0.5, training = true, inplace = false)]
#[python(torch, nn)]
#[view]
#[operator(DTypes::FLOATS, samples, Dropout)]
pub fn dropout(input: &Tensor, p: f64, training: bool, inplace: bool) -> Result<Tensor> {
    if inplace {
        return crate::functional::replaced(OP, input, dropout(input, p, training, false)?);
    }
    if !crate::functional::drops(OP, input, p, training)? {
        return Ok(input.clone());
    }
    if p == 1.0 {
        return input.mul(&input.zeros_like()?);
    }
    let key = next_key(None, input.device())?;
    let op = Dropout { keep: Scalar::Float(1.0 - p) };
    in_order_of(input, |input| dropped(op, &key, input)?.placed_like(input))
}

fn samples() -> Vec<Sample> {
    let sample = |p: f64, factor: f64| {
        let inputs = vec![Array::spread(&[3, 4], -2.0..2.0)];
        let call = move |x: &[&Tensor]| dropout(x[0], p, true, false);
        Sample::composed("dropout", call, inputs, move |x| x[0].map(|x| x * factor))
    };
    let inputs = vec![Array::spread(&[3, 4], -2.0..2.0)];
    let all = |x: &[&Tensor]| {
        dropped(Dropout { keep: Scalar::Float(1.0) }, &Tensor::from_vec(vec![5u64, 7], 2, x[0].device())?, x[0])
    };
    let all = Sample::composed("dropout", all, inputs, |x| x[0].map(|x| x));
    vec![sample(0.0, 1.0), sample(1.0, 0.0), all]
}
