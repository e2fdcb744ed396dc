//! `pow(a, b)`: `a` to the power `b`.

use crate::functional::{self as f, Parts};
use crate::ops::prelude::*;

/// The tile function of [`pow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Pow;

impl BinaryFn for Pow {
    const INT: bool = true;
    const INT_FAILURE: Option<(&'static str, &'static str)> = Some(("exponent", "exponents of 0 or more for integers"));
    const PICOSECONDS: usize = 500;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::pow(a, b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.wrapping_pow(b)
    }
    #[inline(always)]
    fn int_fails<I: Int>(self, _: I, b: I) -> I::Mask {
        b.lt(I::from_i64(0))
    }
}

impl Binary for Pow {
    const NAME: &'static str = "pow";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };
    const READS: [Saves; 2] = [Saves::INPUTS, Saves { inputs: u32::MAX, outputs: 1 }];

    fn by_parts(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Parts::of(a)?.pow(&Parts::of(b)?)?.join()
    }

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => {
                if let Some(exponent) = pair.number(Side::Right).filter(|exponent| exponent.to_f64() != 0.0) {
                    let less = Scalar::Float(exponent.to_f64() - 1.0);
                    let power = pow((&pair.lhs()?).into(), less.into())?;
                    return pair.grad()?.mul(&f::mul((&power).into(), exponent.into())?);
                }
                let exponent = pair.rhs()?;
                let slope = exponent.broadcast_mul(&pair.lhs()?.broadcast_pow(&exponent.affine(1.0, -1.0)?)?)?;
                // 0^-1 times an exponent of 0 would be NaN; a constant's slope is 0.
                let flat = compare(super::eq::Eq, (&exponent).into(), 0.0.into(), Rules::SAME)?;
                let grad = pair.grad()?.mul(&slope)?;
                flat.broadcast_as(grad.shape())?.where_cond(&grad.zeros_like()?, &grad)
            }
            Side::Right => {
                let (base, exponent, y) = (pair.lhs()?, pair.rhs()?, pair.output()?);
                // Powers of 0 by exponents from 0 on have no slope (not 0 * -inf); those by negative ones are infinite.
                let zero = compare(super::eq::Eq, (&base).into(), 0.0.into(), Rules::SAME)?;
                let finite = compare(super::ge::Ge, (&exponent).into(), 0.0.into(), Rules::SAME)?;
                let flat = f::logical_and((&zero).into(), (&finite).into())?;
                let log = f::where_cond(&flat, 1.0.into(), (&base).into())?.log()?;
                pair.grad()?.mul(&y.broadcast_mul(&log)?)
            }
        }
    }
}

/// `input` to the power `exponent`, element by element. Integers wrap; those to negative powers are 0, but 1 and -1.
///
/// Shapes are broadcast and dtypes promoted; a number adapts to the tensor's dtype.
///
/// # Errors
/// For shapes that do not broadcast, numbers that the dtype cannot hold, and a negative number as the exponent of integers.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::pow((&x).into(), 2i64.into())?.to_vec1::<f32>()?, [1.0, 4.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, Pow)]
pub fn pow(input: Operand, exponent: Operand) -> Result<Tensor> {
    match (input, exponent) {
        (Operand::Tensor(base), Operand::Scalar(number)) => match by_multiplication(base, number) {
            Some(power) => power,
            // What wraps in other arithmetic would be another exponent.
            None if base.dtype().is_int() && number.kind() == opforge_core::Kind::Int && !number.fits(base.dtype()) => {
                let accepted = format!("an exponent of 0 or more that {} can hold", base.dtype());
                Err(Error::dtype(OP, "exponent", number, accepted))
            }
            None => binary_to(Pow, input, exponent, Rules::TORCH, out),
        },
        (base, Operand::Tensor(exponent)) if is_signed(exponent.dtype()) && is_whole(base) => {
            whole_power(base, exponent)
        }
        _ => binary_to(Pow, input, exponent, Rules::TORCH, out),
    }
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}

fn is_whole(operand: Operand<'_>) -> bool {
    match operand {
        Operand::Tensor(t) => t.dtype().is_int(),
        Operand::Scalar(number) => number.kind() == opforge_core::Kind::Int,
    }
}

/// Powers of integers whose exponents may be negative: those are 0, but of 1 and -1, whose powers depend on whether the exponent is odd.
#[track_caller]
fn whole_power(base: Operand, exponent: &Tensor) -> Result<Tensor> {
    let negative = f::lt(exponent.into(), 0i64.into())?;
    let odd = f::bitwise_and(exponent.into(), 1i64.into())?;
    let instead = f::where_cond(&negative, (&odd).into(), exponent.into())?;
    let power = binary(Pow, base, (&instead).into(), Rules::TORCH)?;
    let fraction = match base {
        Operand::Scalar(number) if number.to_f64().abs() == 1.0 => return Ok(power),
        Operand::Scalar(_) => negative,
        Operand::Tensor(base) => {
            let mut unit = f::eq(base.into(), 1i64.into())?;
            if is_signed(base.dtype()) {
                unit = f::logical_or((&unit).into(), (&f::eq(base.into(), (-1i64).into())?).into())?;
            }
            f::logical_and((&negative).into(), (&f::logical_not(&unit)?).into())?
        }
    };
    f::where_cond(&fraction, 0i64.into(), (&power).into())
}

/// Powers that are faster without logarithms. Integers stay with whole exponents.
#[track_caller]
fn by_multiplication(base: &Tensor, exponent: Scalar) -> Option<Result<Tensor>> {
    let (whole, integer) = (exponent.kind() == opforge_core::Kind::Int, base.dtype().is_int());
    if !(base.dtype().is_float() || integer && whole) {
        return None;
    }
    match exponent.as_real()? {
        0.0 => Some(base.ones_like().and_then(|ones| f::constant_in(ones, &[base]))),
        1.0 => Some(base.copy()),
        2.0 => Some(base.sqr()),
        3.0 => Some(f::third_power(base)),
        0.5 if !integer => Some(base.sqrt()),
        -0.5 if !integer => Some(f::rsqrt(base)),
        -1.0 if !integer => Some(base.recip()),
        _ => None,
    }
}

impl Tensor {
    /// `a` to the power `b` of equal shapes and dtypes: see [`pow`].
    #[track_caller]
    pub fn pow(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Pow, self.into(), rhs.into(), Rules::SAME)
    }

    /// `a` to the power `b` of shapes broadcast to each other: see [`pow`].
    #[track_caller]
    pub fn broadcast_pow(&self, rhs: &Tensor) -> Result<Tensor> {
        binary(Pow, self.into(), rhs.into(), Rules::BROADCAST)
    }

    /// `a` to the power `b` in place: this tensor is replaced by the result. The other broadcasts to it.
    ///
    /// # Errors
    /// Also when this is a leaf that needs a gradient, or its memory overlaps itself or the other's.
    #[track_caller]
    pub fn pow_(&self, rhs: &Tensor) -> Result<()> {
        dispatch_into(&BinaryOp(Pow), &[self, rhs], &[self])
    }

    /// Each element to the power of a number; integers take whole ones.
    #[track_caller]
    pub fn powf(&self, exponent: f64) -> Result<Tensor> {
        binary(Pow, self.into(), exponent.into(), Rules { cast: false, ..Rules::SAME })
    }
}

fn samples() -> Vec<Sample> {
    binary_samples(Pow, 0.3..2.0, -2.0..2.0, f64::powf)
}
