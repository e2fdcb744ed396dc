//! `bernoulli(p)`: ones with given probabilities, else zeros.

use opforge_tile::forms::Random;

use super::rand::Rand;
use crate::ops::prelude::*;

/// The distribution behind [`bernoulli`] and dropout: ones of one probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Bernoulli {
    /// The probability of a one.
    pub p: Scalar,
}

impl Distribution for Bernoulli {
    const NAME: &'static str = "bernoulli";

    fn form(&self) -> Random {
        Random::Bernoulli { p: self.p }
    }
}

/// Ones with probability `p`, else zeros, like a tensor.
#[track_caller]
pub(crate) fn mask(p: f64, like: &Tensor, generator: Option<&Generator>) -> Result<Tensor> {
    draw_like(Bernoulli { p: Scalar::Float(p) }, like, like.dtype(), generator)
}

/// Ones and zeros, of the input's shape and dtype: each is 1 with the probability that the input holds there.
///
/// # Errors
/// For tensors that are not floating-point.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let p = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bernoulli(&p, None)?.to_vec1::<f32>()?, [0.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, generator = None)]
#[operator(DTypes::FLOATS, samples, Bernoulli)]
pub fn bernoulli(input: &Tensor, generator: Option<Generator>) -> Result<Tensor> {
    check_float(OP, "input", input)?;
    let uniform = draw_like(Rand::of(0.0, 1.0), input, DType::F32, generator.as_ref())?;
    let ones = uniform.lt(&input.detach().to_dtype(DType::F32)?)?.to_dtype(input.dtype())?;
    crate::functional::constant_in(ones, &[input])
}

/// Sure cases only. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let inputs = vec![Array { content: Content::Real, ..Array::truths(&[3, 4]) }];
    let certain = |x: &[Array]| x[0].map(|p| f64::from(p >= 1.0));
    vec![Sample::composed("bernoulli", |x| bernoulli(x[0], None), inputs, certain).rough()]
}
