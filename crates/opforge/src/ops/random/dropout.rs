//! `dropout(x, p)`: zeros at random places, the rest scaled to keep the mean.

use super::bernoulli::mask;
use crate::ops::prelude::*;

/// The input with each element, independently with probability `p`, replaced by 0, the others divided by `1 - p`; the input itself outside
/// of training. With `inplace` the input itself is changed.
///
/// # Errors
/// For a probability outside of 0 to 1, and tensors that are not floating-point.
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
#[operator(DTypes::FLOATS, samples)]
pub fn dropout(input: &Tensor, p: f64, training: bool, inplace: bool) -> Result<Tensor> {
    if inplace {
        return crate::functional::replaced(OP, input, dropout(input, p, training, false)?);
    }
    ensure((0.0..=1.0).contains(&p), || Error::value(OP, "p", p, "a probability from 0 to 1"))?;
    check_float(OP, "input", input)?;
    if !training || p == 0.0 {
        return Ok(input.clone());
    }
    if p == 1.0 {
        return input.mul(&input.zeros_like()?);
    }
    let kept = mask(1.0 - p, input, None)?;
    input.mul(&kept.affine(1.0 / (1.0 - p), 0.0)?)
}

fn samples() -> Vec<Sample> {
    let sample = |p: f64, training: bool, factor: f64| {
        let inputs = vec![Array::spread(&[3, 4], -2.0..2.0)];
        let call = move |x: &[&Tensor]| dropout(x[0], p, training, false);
        Sample::composed("dropout", call, inputs, move |x| x[0].map(|x| x * factor))
    };
    vec![sample(0.3, false, 1.0), sample(0.0, true, 1.0), sample(1.0, true, 0.0)]
}
