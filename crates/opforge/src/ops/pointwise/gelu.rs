//! `gelu(x) = x * Phi(x)`, Phi the normal distribution function, exactly or approximated with tanh.
//!
//! Source: Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::ops::prelude::*;

/// The tile function of [`gelu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Gelu {
    /// Exact or approximated.
    pub form: Form,
}

/// How the normal distribution function is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Form {
    /// `(1 + erf(x / sqrt(2))) / 2`.
    Erf,
    /// `(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`.
    Tanh,
}

/// `sqrt(2 / pi)`.
const SCALE: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
const CUBE: f64 = 0.044715;

impl UnaryFn for Gelu {
    const PICOSECONDS: usize = 350;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        match self.form {
            Form::Erf => math::gelu(x),
            Form::Tanh => math::gelu_tanh(x),
        }
    }
}

impl Unary for Gelu {
    const NAME: &'static str = "gelu";
    const FUSED: bool = true;

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let x = ctx.input(0)?;
        let slope = match self.form {
            // Phi(x) + x phi(x)
            Form::Erf => {
                let cdf = x.affine(FRAC_1_SQRT_2, 0.0)?.erf()?.affine(0.5, 0.5)?;
                let density = x.sqr()?.affine(-0.5, 0.0)?.exp()?.affine(SCALE * 0.5, 0.0)?;
                cdf.add(&x.mul(&density)?)?
            }
            // With u = SCALE (x + CUBE x^3) and t = tanh(u): (1 + t) / 2 + x (1 - t^2) u' / 2
            Form::Tanh => {
                let x2 = x.sqr()?;
                let t = x.mul(&x2.affine(CUBE * SCALE, SCALE)?)?.tanh()?;
                let inner = x2.affine(1.5 * CUBE * SCALE, 0.5 * SCALE)?;
                let bend = t.sqr()?.affine(-1.0, 1.0)?;
                t.affine(0.5, 0.5)?.add(&x.mul(&bend)?.mul(&inner)?)?
            }
        };
        ctx.grad(0)?.mul(&slope)
    }

    #[inline(always)]
    fn slope<V: Float>(self, x: V) -> V {
        let (one, half) = (V::splat(1.0), V::splat(0.5));
        match self.form {
            Form::Erf => math::gelu_slope(x),
            Form::Tanh => {
                let x2 = x * x;
                let t = math::tanh(x * V::splat(SCALE) * x2.mul_add(V::splat(CUBE), one));
                let inner = V::splat(SCALE) * x2.mul_add(V::splat(3.0 * CUBE), one);
                let bend = one - t * t;
                half * (one + t) + V::select(bend.eq(V::splat(0.0)), bend, half * x * bend * inner)
            }
        }
    }
}

/// `x * Phi(x)`, Phi the standard normal distribution function; with `approximate = "tanh"` by a formula with tanh.
///
/// Takes a floating-point tensor of any shape; the result has the same shape and dtype.
///
/// # Errors
/// For an approximation other than `"none"` and `"tanh"`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
/// let y = opforge::functional::gelu(&x, "none")?.to_vec1::<f32>()?;
/// assert!((y[1] - 0.841345).abs() < 1e-6);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, approximate = "none")]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, Gelu)]
pub fn gelu(input: &Tensor, approximate: &str) -> Result<Tensor> {
    let form = match approximate {
        "none" => Form::Erf,
        "tanh" => Form::Tanh,
        other => return Err(Error::value(OP, "approximate", other, "\"none\" or \"tanh\"")),
    };
    unary(Gelu { form }, input)
}

impl Tensor {
    /// `x * Phi(x)` by the formula with tanh: see [`gelu`].
    #[track_caller]
    pub fn gelu(&self) -> Result<Tensor> {
        unary(Gelu { form: Form::Tanh }, self)
    }

    /// `x * Phi(x)`, exactly: see [`gelu`].
    #[track_caller]
    pub fn gelu_erf(&self) -> Result<Tensor> {
        unary(Gelu { form: Form::Erf }, self)
    }
}

fn samples() -> Vec<Sample> {
    let exact = unary_samples(Gelu { form: Form::Erf }, -4.0..4.0, |x| x * 0.5 * libm::erfc(-x * FRAC_1_SQRT_2));
    let tanh = |x: f64| 0.5 * x * (1.0 + (SCALE * (x + CUBE * x.powi(3))).tanh());
    let approximate = unary_samples(Gelu { form: Form::Tanh }, -4.0..4.0, tanh);
    exact.into_iter().chain(approximate).collect()
}
