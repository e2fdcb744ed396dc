//! `gcd(a, b)`: the greatest common divisor.

use crate::ops::prelude::*;

/// The tile function of [`gcd`](fn@gcd).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Gcd;

impl BinaryFn for Gcd {
    const FLOAT: bool = false;
    const INT: bool = true;
    const PICOSECONDS: usize = 20000;

    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.gcd(b)
    }
}

impl Binary for Gcd {
    const NAME: &'static str = "gcd";
    const FLAT: bool = true;
}

/// The greatest common divisor of integers, not negative.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, and tensors that are not integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[12i64], &Device::Cpu)?;
/// assert_eq!(opforge::functional::gcd((&x).into(), 18i64.into())?.to_vec1::<i64>()?, [6]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::INTS, samples, Gcd)]
pub fn gcd(input: Operand, other: Operand) -> Result<Tensor> {
    binary_to(Gcd, input, other, Rules::TORCH, out)
}

fn samples() -> Vec<Sample> {
    binary_samples(Gcd, 0.0..30.0, 0.0..30.0, euclid)
}

fn euclid(a: f64, b: f64) -> f64 {
    let (a, b) = (a as i64, b as i64);
    (1..=a.max(b)).rev().find(|d| a % d == 0 && b % d == 0).unwrap_or(0) as f64
}
