//! `lcm(a, b)`: the least common multiple.

use crate::ops::prelude::*;

/// The tile function of [`lcm`](fn@lcm).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Lcm;

impl BinaryFn for Lcm {
    const FLOAT: bool = false;
    const INT: bool = true;
    const PICOSECONDS: usize = 20000;

    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.div_trunc(a.gcd(b)).wrapping_mul(b).wrapping_abs()
    }
}

impl Binary for Lcm {
    const NAME: &'static str = "lcm";
    const FLAT: bool = true;
}

/// The least common multiple of integers, not negative; 0 with 0.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and tensors that are not integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4i64], &Device::Cpu)?;
/// assert_eq!(opforge::functional::lcm((&x).into(), 6i64.into())?.to_vec1::<i64>()?, [12]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::INTS, samples, Lcm)]
pub fn lcm(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Lcm, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Lcm, 0.0..9.0, 0.0..9.0, multiple)
}

fn multiple(a: f64, b: f64) -> f64 {
    let (a, b) = (a as i64, b as i64);
    (1..=a * b).find(|m| m % a == 0 && m % b == 0).unwrap_or(0) as f64
}
