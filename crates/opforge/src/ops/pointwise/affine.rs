//! `affine(x, mul, add)`: `x * mul + add` by two numbers.

use crate::functional::{self as f, Parts};
use crate::ops::prelude::*;

/// The tile function of [`affine`]; the numbers are in the tensor's dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Affine {
    /// The factor.
    pub mul: Number,
    /// The summand.
    pub add: Number,
}

impl UnaryFn for Affine {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.mul_add(V::splat(self.mul.to_f64()), V::splat(self.add.to_f64()))
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_mul(I::from_i64(self.mul.to_i64())).wrapping_add(I::from_i64(self.add.to_i64()))
    }
}

impl Unary for Affine {
    const NAME: &'static str = "affine";
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        ctx.grad(0)?.affine(self.mul.to_f64(), 0.0)
    }

    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        let mul = self.mul.to_f64();
        if self.add.to_f64() == 0.0 {
            return f::view_as_complex(&f::view_as_real(input)?.affine(mul, 0.0)?);
        }
        let Parts { re, im } = Parts::of(input)?;
        Parts { re: re.affine(mul, self.add.to_f64())?, im: im.affine(mul, 0.0)? }.join()
    }
}

/// `input * mul + add`, element by element.
///
/// # Errors
/// For numbers that the dtype cannot hold: integer tensors take whole numbers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(x.affine(2.0, 0.5)?.to_vec1::<f32>()?, [2.5, 4.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::NUMERIC, samples, Affine)]
pub fn affine(input: &Tensor, mul: f64, add: f64) -> Result<Tensor> {
    let fit = |number: f64| crate::functional::fit(OP, Scalar::Float(number), input.dtype());
    unary(Affine { mul: fit(mul)?.into(), add: fit(add)?.into() }, input)
}

impl Tensor {
    /// `self * mul + add`. The numbers are cast to the tensor's dtype as Rust's `as` does, for integers thus cut to whole numbers; [`affine`] refuses
    /// what does not fit.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[1i64, 2], &Device::Cpu)?;
    /// assert_eq!(x.affine(2.9, -0.5)?.to_vec1::<i64>()?, [2, 4]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn affine(&self, mul: f64, add: f64) -> Result<Tensor> {
        let cast = |number: f64| Scalar::Float(number).cast(self.dtype());
        unary(Affine { mul: cast(mul).into(), add: cast(add).into() }, self)
    }
}

fn samples() -> Vec<Sample> {
    let f = Affine { mul: 3.0.into(), add: 2.0.into() };
    unary_samples(f, -2.0..2.0, |x| x * 3.0 + 2.0)
}
