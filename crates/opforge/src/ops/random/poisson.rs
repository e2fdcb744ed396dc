//! `poisson(rates)`: numbers of events.

use opforge_tile::forms::{Draws, Random};

use crate::family::{drawn_axes, next_key};
use crate::ops::prelude::*;

/// The operator of [`poisson`]: of a draw's key and rates in f64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Poisson;

impl Plain for Poisson {
    const NAME: &'static str = "poisson";
    const INPUTS: usize = 2;
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(smallvec![Meta::contiguous(inputs[1].dtype, inputs[1].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        drawn_axes(inputs, inputs[1].rank())
    }

    fn form(&self, place: &Place) -> Lowering {
        Lowering::Random(Draws { random: Random::Poisson, portion: place.of_output(0).cloned() })
    }
}

/// Random numbers of events, of the input's shape and dtype: each of the Poisson distribution with the rate that the input holds there.
///
/// # Errors
/// For tensors that are not floating-point, and rates that are negative, infinite or NaN.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let rates = Tensor::new(&[0f32, 0.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::poisson(&rates, None)?.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(generator = None)]
#[python(torch)]
#[operator(DTypes::FLOATS, samples, Poisson)]
pub fn poisson(input: &Tensor, generator: Option<Generator>) -> Result<Tensor> {
    check_float(OP, "input", input)?;
    let key = next_key(generator.as_ref(), input.device())?;
    let rates = input.detach().to_dtype(DType::F64)?.contiguous()?;
    let counts = dispatch1(&Poisson, &[&key, &rates])?.to_dtype(input.dtype())?;
    crate::functional::constant_in(counts, &[input])
}

/// The only sure rate. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let inputs = vec![Array::from_fn(&[3, 4], |_| 0.0)];
    vec![Sample::composed("poisson", |x| poisson(&x[0].zeros_like()?, None), inputs, |x| x[0].map(|_| 0.0)).rough()]
}
