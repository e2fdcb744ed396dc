//! `gelu(x) = x * Phi(x)`, Phi the normal distribution function, exactly or approximated with tanh.
//!
//! Source: Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::functional::binary;
use crate::operator::prelude::*;

/// The tile function of [`gelu`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gelu {
    /// Exact or approximated.
    pub form: Form,
}

/// How the normal distribution function is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        binary(GeluGrad { form: self.form }, (&ctx.input(0)?).into(), (&ctx.grad(0)?).into(), Rules::SAME)
    }
}

/// `gelu'(x) * g` in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct GeluGrad {
    form: Form,
}

impl BinaryFn for GeluGrad {
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, x: V, g: V) -> V {
        let (one, half) = (V::splat(1.0), V::splat(0.5));
        let slope = match self.form {
            Form::Erf => {
                let phi = math::exp(x * x * V::splat(-0.5)) * V::splat(SCALE * 0.5);
                let cdf = half * (one + math::erf(x * V::splat(FRAC_1_SQRT_2)));
                // x * phi is inf * 0 at infinite x; its limit is 0.
                cdf + V::select(phi.eq(V::splat(0.0)), phi, x * phi)
            }
            Form::Tanh => {
                let x2 = x * x;
                let t = math::tanh(x * V::splat(SCALE) * x2.mul_add(V::splat(CUBE), one));
                let inner = V::splat(SCALE) * x2.mul_add(V::splat(3.0 * CUBE), one);
                let bend = one - t * t;
                half * (one + t) + V::select(bend.eq(V::splat(0.0)), bend, half * x * bend * inner)
            }
        };
        slope * g
    }
}

impl Binary for GeluGrad {
    const NAME: &'static str = "gelu_grad";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        let (x, g, upper) = (pair.lhs()?, pair.rhs()?, pair.grad()?);
        match side {
            Side::Right => binary(*self, (&x).into(), (&upper).into(), Rules::SAME),
            Side::Left => upper.mul(&g)?.mul(&self.curvature(&x)?),
        }
    }
}

impl GeluGrad {
    /// The second derivative of gelu, composed of operators.
    fn curvature(&self, x: &Tensor) -> Result<Tensor> {
        let x2 = x.sqr()?;
        match self.form {
            // phi(x) (2 - x^2)
            Form::Erf => x2.affine(-0.5, 0.0)?.exp()?.affine(SCALE * 0.5, 0.0)?.mul(&x2.affine(-1.0, 2.0)?),
            // With u = SCALE (x + CUBE x^3), t = tanh(u), d = 1 - t^2: d u' + x d (u'' / 2 - t u'^2)
            Form::Tanh => {
                let t = x.mul(&x2.affine(CUBE * SCALE, SCALE)?)?.tanh()?;
                let d = t.sqr()?.affine(-1.0, 1.0)?;
                let u1 = x2.affine(3.0 * CUBE * SCALE, SCALE)?;
                let half_u2 = x.affine(3.0 * CUBE * SCALE, 0.0)?;
                d.mul(&u1.add(&x.mul(&half_u2.sub(&t.mul(&u1.sqr()?)?)?)?)?)
            }
        }
    }
}

function! {
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
    pub fn gelu(input: &Tensor; approximate: &str = "none") -> Result<Tensor> {
        let form = match approximate {
            "none" => Form::Erf,
            "tanh" => Form::Tanh,
            other => return Err(Error::value("gelu", "approximate", other, "\"none\" or \"tanh\"")),
        };
        unary(Gelu { form }, input)
    }
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

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: Gelu::NAME, function: &FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    let exact = unary_samples(Gelu { form: Form::Erf }, -4.0..4.0, |x| x * 0.5 * libm::erfc(-x * FRAC_1_SQRT_2));
    let tanh = |x: f64| 0.5 * x * (1.0 + (SCALE * (x + CUBE * x.powi(3))).tanh());
    let approximate = unary_samples(Gelu { form: Form::Tanh }, -4.0..4.0, tanh);
    exact.into_iter().chain(approximate).collect()
}
