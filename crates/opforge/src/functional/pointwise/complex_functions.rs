//! Functions of complex numbers as functions of their parts, and so are their gradients.
//!
//! Special cases are those of C99, annex G: signs of 0 say on which side of a branch cut a number is, and infinities are respected where a part is NaN.
//! Formulas of inverse functions are those of W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit", 1987.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10};

use super::complex::Parts;
use crate::functional as f;
use crate::ops::prelude::*;

/// Multiples that keep the sign of 0, which adding 0 would not.
trait Times {
    fn times(&self, factor: f64) -> Result<Tensor>;
}

impl Times for Tensor {
    #[track_caller]
    fn times(&self, factor: f64) -> Result<Tensor> {
        f::mul(self.into(), factor.into())
    }
}

/// A function of a complex number's parts.
#[track_caller]
pub(crate) fn by_parts(z: &Tensor, function: impl Fn(&Parts) -> Result<Parts>) -> Result<Tensor> {
    function(&Parts::of(z)?)?.join()
}

impl Parts {
    fn new(re: Tensor, im: Tensor) -> Parts {
        Parts { re, im }
    }

    /// Whether a part is infinite.
    pub fn is_infinite(&self) -> Result<Tensor> {
        either(&f::isinf(&self.re)?, &f::isinf(&self.im)?)
    }

    /// Whether a part is NaN.
    pub fn is_nan(&self) -> Result<Tensor> {
        either(&f::isnan(&self.re)?, &f::isnan(&self.im)?)
    }

    /// Whether both parts are finite.
    pub fn is_finite(&self) -> Result<Tensor> {
        both(&f::isfinite(&self.re)?, &f::isfinite(&self.im)?)
    }

    /// `e^x (cos y + i sin y)`.
    pub fn exp(&self) -> Result<Parts> {
        let (x, y, size) = (&self.re, &self.im, self.re.exp()?);
        Ok(Parts::new(infinity_wins(x, &size, &y.cos()?)?, zero_wins(&size, &y.sin()?)?))
    }

    /// `e^(z log 2)`.
    pub fn exp2(&self) -> Result<Parts> {
        self.map(|part| part.times(LN_2))?.exp()
    }

    /// The real part is `expm1(x) cos y - 2 sin^2(y / 2)`.
    pub fn expm1(&self) -> Result<Parts> {
        let (x, y) = (&self.re, &self.im);
        let exp = self.exp()?;
        let half = y.times(0.5)?.sin()?;
        let near = f::expm1(x)?.mul(&y.cos()?)?.sub(&half.sqr()?.times(2.0)?)?;
        Ok(Parts::new(choose(&f::isinf(x)?, &exp.re.affine(1.0, -1.0)?, &near)?, exp.im))
    }

    /// `log |z| + i angle z`, times a factor. Where `|z|` is about 1, its logarithm is `log1p((m - 1) (m + 1) + n^2) / 2` of the larger part's magnitude `m` and
    /// the smaller one's.
    pub fn log(&self, factor: f64) -> Result<Parts> {
        let angle = f::atan2((&self.im).into(), (&self.re).into())?;
        let size = f::hypot((&self.re).into(), (&self.im).into())?;
        let is_near = both(&f::gt((&size).into(), 0.5.into())?, &f::lt((&size).into(), 2.0.into())?)?;
        let (x, y, one) = (self.re.abs()?, self.im.abs()?, size.ones_like()?);
        // Elsewhere those of 1, so that no gradient is NaN.
        let larger = choose(&is_near, &f::maximum((&x).into(), (&y).into())?, &one)?;
        let smaller = choose(&is_near, &f::minimum((&x).into(), (&y).into())?, &one)?;
        let excess = larger.affine(1.0, -1.0)?.mul(&larger.affine(1.0, 1.0)?)?.add(&smaller.sqr()?)?;
        let size = choose(&is_near, &f::log1p(&excess)?.times(0.5)?, &size.log()?)?;
        Parts::new(size, angle).map(|part| part.times(factor))
    }

    /// Near 0 the logarithm of the magnitude is `log1p(x (x + 2) + y^2) / 2`.
    pub fn log1p(&self) -> Result<Parts> {
        let (x, y) = (&self.re, &self.im);
        let far = Parts::new(x.affine(1.0, 1.0)?, y.clone()).log(1.0)?;
        let is_near = f::lt((&x.abs()?.add(&y.abs()?)?).into(), 0.5.into())?;
        let size = f::log1p(&x.mul(&x.affine(1.0, 2.0)?)?.add(&y.sqr()?)?)?.times(0.5)?;
        Ok(Parts::new(choose(&is_near, &size, &far.re)?, far.im))
    }

    /// `t + i y / 2t` with `t = sqrt((|x| + |z|) / 2)`; the parts change places left of 0. Scaled by powers of 4, so that no sum overflows or vanishes.
    pub fn sqrt(&self) -> Result<Parts> {
        let (largest, least, epsilon) = match self.re.dtype() {
            DType::F32 => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), f64::from(f32::EPSILON)),
            _ => (f64::MAX, f64::MIN_POSITIVE, f64::EPSILON),
        };
        let size = self.re.abs()?.maximum(&self.im.abs()?)?.detach();
        let one = size.ones_like()?;
        let small =
            choose(&f::lt((&size).into(), (least / epsilon).into())?, &one.affine(epsilon.powi(-2), 0.0)?, &one)?;
        let scale = choose(&f::gt((&size).into(), (largest / 4.0).into())?, &one.times(1.0 / 16.0)?, &small)?;
        let (x, y) = (self.re.mul(&scale)?, self.im.mul(&scale)?);
        // Not `abs` and `copysign`: their gradients are 0 at 0.
        let (side_x, side_y) = (side(&x)?, side(&y)?);
        let tall = y.mul(&side_y)?;
        let t = x.mul(&side_x)?.add(&f::hypot((&x).into(), (&y).into())?)?.times(0.5)?.sqrt()?;
        let vanishes = is_zero(&t)?;
        let divisor = choose(&vanishes, &one, &t.times(2.0)?)?;
        let other = choose(&vanishes, &tall, &tall.div(&divisor)?)?;
        let is_left = f::signbit(&x)?;
        let re = choose(&is_left, &other, &t)?;
        let im = choose(&is_left, &t, &other)?.mul(&side_y)?;
        let (back, is_tall) = (f::rsqrt(&scale)?, f::isinf(&y)?);
        Ok(Parts::new(choose(&is_tall, &y.abs()?, &re.mul(&back)?)?, choose(&is_tall, &y, &im.mul(&back)?)?))
    }

    /// `cosh x cos y + i sinh x sin y`.
    pub fn cosh(&self) -> Result<Parts> {
        let (x, y) = (&self.re, &self.im);
        Ok(Parts::new(infinity_wins(x, &f::cosh(x)?, &y.cos()?)?, zero_wins(&f::sinh(x)?, &y.sin()?)?))
    }

    /// `sinh x cos y + i cosh x sin y`.
    pub fn sinh(&self) -> Result<Parts> {
        let (x, y) = (&self.re, &self.im);
        let sinh = f::sinh(x)?;
        // 0 times the cosine of an infinite number is 0 here.
        let cos = choose(&both(&is_zero(x)?, &not(&f::isfinite(y)?)?)?, &y.ones_like()?, &y.cos()?)?;
        Ok(Parts::new(infinity_wins(x, &sinh, &cos)?, zero_wins(&f::cosh(x)?, &y.sin()?)?))
    }

    /// `(cosh x sinh x (1 + t^2) + i t) / (1 + (1 + t^2) sinh^2 x)` with `t = tan y`; far from 0 the real part is 1.
    pub fn tanh(&self) -> Result<Parts> {
        let (x, y) = (&self.re, &self.im);
        // A quarter of the largest number's inverse hyperbolic sine.
        let bound = (if x.dtype() == DType::F32 { f64::from(f32::MAX) } else { f64::MAX }.ln() + LN_2) / 4.0;
        let is_far = f::gt((&x.abs()?).into(), bound.into())?;
        let near = choose(&is_far, &x.zeros_like()?, x)?;
        let (t, s) = (f::tan(y)?, f::sinh(&near)?);
        let slope = t.sqr()?.affine(1.0, 1.0)?;
        let below = slope.mul(&s.sqr()?)?.affine(1.0, 1.0)?;
        let re = at_zero(x, x, &slope.mul(&f::cosh(&near)?)?.mul(&s)?.div(&below)?)?;
        let is_lost = both(&f::isinf(x)?, &not(&f::isfinite(y)?)?)?;
        let swing = choose(&is_lost, &y.zeros_like()?, &y.sin()?.mul(&y.cos()?)?)?;
        let far = swing.mul(&x.abs()?.times(-2.0)?.exp()?)?.times(4.0)?;
        let sign = signed(&x.ones_like()?, x)?;
        let im = choose(&is_far, &far, &t.div(&below)?)?;
        Ok(Parts::new(choose(&is_far, &sign, &re)?, at_zero(y, y, &im)?))
    }

    /// `2 atan2(re sqrt(1 - z), re sqrt(1 + z)) + i asinh(im (conj sqrt(1 + z) sqrt(1 - z)))`.
    pub fn acos(&self) -> Result<Parts> {
        let (left, right) = self.around_one()?;
        let (x, y, is_infinite) = (&self.re, &self.im, self.is_infinite()?);
        let near = f::atan2((&right.re).into(), (&left.re).into())?.times(2.0)?;
        let re = choose(&is_infinite, &f::atan2((&y.abs()?).into(), x.into())?, &near)?;
        let re = choose(&both(&is_zero(x)?, &f::isnan(y)?)?, &x.zeros_like()?.affine(1.0, FRAC_PI_2)?, &re)?;
        let im = f::asinh(&left.re.mul(&right.im)?.sub(&left.im.mul(&right.re)?)?)?;
        Ok(Parts::new(re, choose(&is_infinite, &infinite_as(y)?.neg()?, &im)?))
    }

    /// `atan2(x, re (sqrt(1 - z) sqrt(1 + z))) + i asinh(im (conj sqrt(1 - z) sqrt(1 + z)))`.
    pub fn asin(&self) -> Result<Parts> {
        let (left, right) = self.around_one()?;
        let (x, y, is_infinite) = (&self.re, &self.im, self.is_infinite()?);
        let below = left.re.mul(&right.re)?.sub(&left.im.mul(&right.im)?)?;
        let below = choose(&is_infinite, &y.abs()?, &below)?;
        let re = f::atan2(x.into(), (&below).into())?;
        let im = f::asinh(&left.im.mul(&right.re)?.sub(&left.re.mul(&right.im)?)?)?;
        let re = choose(&both(&is_zero(x)?, &f::isnan(y)?)?, x, &re)?;
        Ok(Parts::new(re, choose(&is_infinite, &infinite_as(y)?, &im)?))
    }

    /// `asinh(re (conj sqrt(z - 1) sqrt(z + 1))) + 2 i atan2(im sqrt(z - 1), re sqrt(z + 1))`.
    pub fn acosh(&self) -> Result<Parts> {
        let (x, y, is_infinite) = (&self.re, &self.im, self.is_infinite()?);
        let left = Parts::new(x.affine(1.0, 1.0)?, y.clone()).sqrt()?;
        let right = Parts::new(x.affine(1.0, -1.0)?, y.clone()).sqrt()?;
        let re = f::asinh(&left.re.mul(&right.re)?.add(&left.im.mul(&right.im)?)?)?;
        let near = f::atan2((&right.im).into(), (&left.re).into())?.times(2.0)?;
        let im = choose(&is_infinite, &f::atan2(y.into(), x.into())?, &near)?;
        let im = choose(&both(&is_zero(x)?, &f::isnan(y)?)?, &x.zeros_like()?.affine(1.0, FRAC_PI_2)?, &im)?;
        Ok(Parts::new(choose(&is_infinite, &re.zeros_like()?.affine(1.0, f64::INFINITY)?, &re)?, im))
    }

    /// `s log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 + i atan2(2y, (1 - x) (1 + x) - y^2) / 2` with the sign `s` of `x`.
    pub fn atanh(&self) -> Result<Parts> {
        let (x, y, is_infinite) = (&self.re, &self.im, self.is_infinite()?);
        let less = x.affine(-1.0, 1.0)?;
        let one = x.ones_like()?;
        let sign = choose(&f::lt(x.into(), 0.0.into())?, &one.neg()?, &one)?;
        let size = x.mul(&sign)?;
        let apart = f::hypot((&size.affine(-1.0, 1.0)?).into(), y.into())?;
        let re = f::log1p(&size.times(4.0)?.div(&apart)?.div(&apart)?)?.times(0.25)?.mul(&sign)?;
        let is_flat = either(&is_infinite, &both(&is_zero(x)?, &f::isnan(y)?)?)?;
        let re = choose(&is_flat, &signed(&x.zeros_like()?, x)?, &re)?;
        let below = less.mul(&x.affine(1.0, 1.0)?)?.sub(&y.sqr()?)?;
        let im = f::atan2((&y.times(2.0)?).into(), (&below).into())?.times(0.5)?;
        let is_right_angle = both(&is_infinite, &not(&f::isnan(y)?)?)?;
        let right_angle = signed(&y.zeros_like()?.affine(1.0, FRAC_PI_2)?, y)?;
        Ok(Parts::new(re, choose(&is_right_angle, &right_angle, &im)?))
    }

    /// `sqrt(1 + z)` and `sqrt(1 - z)`.
    fn around_one(&self) -> Result<(Parts, Parts)> {
        let left = Parts::new(self.re.affine(1.0, 1.0)?, self.im.clone()).sqrt()?;
        let right = Parts::new(self.re.affine(-1.0, 1.0)?, self.im.neg()?).sqrt()?;
        Ok((left, right))
    }

    /// `-i g(i z)`: the circular function of a hyperbolic one, and the other way round.
    pub fn turned(&self, g: impl Fn(&Parts) -> Result<Parts>) -> Result<Parts> {
        let Parts { re, im } = g(&self.times_i()?)?;
        Ok(Parts::new(im, re.neg()?))
    }

    /// `i z`.
    pub fn times_i(&self) -> Result<Parts> {
        Ok(Parts::new(self.im.neg()?, self.re.clone()))
    }

    /// `z / |z|`, and 0 for 0.
    pub fn sign(&self) -> Result<Parts> {
        let is_flat = both(&is_zero(&self.re)?, &is_zero(&self.im)?)?;
        // Where the number is 0, parts of another, so that no gradient of `hypot` is NaN.
        let safe = Parts::new(choose(&is_flat, &self.re.ones_like()?, &self.re)?, self.im.clone());
        let size = f::hypot((&safe.re).into(), (&safe.im).into())?;
        let zeros = size.detach().zeros_like()?;
        let sign = |safe: &Tensor| choose(&is_flat, &zeros, &safe.div(&size)?);
        Ok(Parts::new(sign(&safe.re)?, sign(&safe.im)?))
    }

    /// `e^(w log z)`; 1 where `w` is 0, and else 0 where `z` is, if the real part of `w` is positive.
    pub fn pow(&self, w: &Parts) -> Result<Parts> {
        let of_zero = both(&is_zero(&self.re)?, &is_zero(&self.im)?)?;
        let safe = Parts::new(choose(&of_zero, &self.re.ones_like()?, &self.re)?, self.im.clone());
        let power = w.mul(&safe.log(1.0)?)?.exp()?;
        let (shape, one) = (power.re.shape().clone(), power.re.ones_like()?);
        let spread = |mask: Tensor| mask.broadcast_as(shape.clone());
        let vanishes = spread(f::logical_and((&of_zero).into(), (&f::gt((&w.re).into(), 0.0.into())?).into())?)?;
        let grows = spread(f::logical_and((&of_zero).into(), (&f::le((&w.re).into(), 0.0.into())?).into())?)?;
        let is_one = spread(both(&is_zero(&w.re)?, &is_zero(&w.im)?)?)?;
        // Elsewhere the logarithm of 0 would make gradients NaN, those of what is not chosen too.
        let infinite = both(&grows, &f::logical_not(&is_one)?)?;
        let base = Parts::new(choose(&infinite, &self.re, &one)?, choose(&infinite, &self.im, &one.zeros_like()?)?);
        let power_of_zero = f::exp(&w.mul(&base.log(1.0)?)?.re)?;
        let re = choose(&grows, &power_of_zero.broadcast_as(shape.clone())?, &power.re)?;
        let re = choose(&is_one, &one, &choose(&vanishes, &one.zeros_like()?, &re)?)?;
        let im = choose(&either(&is_one, &vanishes)?, &one.zeros_like()?, &power.im)?;
        Ok(Parts::new(re, im))
    }
}

/// What logarithms to the bases 2 and 10 are of the natural one.
pub(crate) const PER_OCTAVE: f64 = 1.0 / LN_2;
/// See [`PER_OCTAVE`].
pub(crate) const PER_DECADE: f64 = 1.0 / LN_10;

#[track_caller]
fn choose(mask: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    f::where_cond(mask, a.into(), b.into())
}

fn is_zero(x: &Tensor) -> Result<Tensor> {
    f::eq(x.into(), 0.0.into())
}

fn not(x: &Tensor) -> Result<Tensor> {
    f::logical_not(x)
}

fn both(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    f::logical_and(a.into(), b.into())
}

fn either(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    f::logical_or(a.into(), b.into())
}

/// The magnitude of `a` with the sign of `b`.
fn signed(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    f::copysign(a.into(), b.into())
}

/// 1 or -1, as the sign of `x`, also of 0.
fn side(x: &Tensor) -> Result<Tensor> {
    signed(&x.ones_like()?, &x.detach())
}

/// `value`, and `limit` where it is NaN though `x` is 0: where it is a number, its gradient at 0 is that of a formula.
fn at_zero(x: &Tensor, limit: &Tensor, value: &Tensor) -> Result<Tensor> {
    choose(&both(&is_zero(x)?, &f::isnan(value)?)?, limit, value)
}

fn infinite_as(x: &Tensor) -> Result<Tensor> {
    signed(&x.zeros_like()?.affine(1.0, f64::INFINITY)?, x)
}

/// `a b`; `a` alone where `x`, of which it is a function, is infinite and `b` is NaN.
fn infinity_wins(x: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    choose(&both(&f::isinf(x)?, &f::isnan(b)?)?, a, &a.mul(b)?)
}

/// `a b`; 0 where one of them is, whatever the other.
fn zero_wins(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let product = a.mul(b)?;
    let vanishes = both(&f::isnan(&product)?, &either(&is_zero(a)?, &is_zero(b)?)?)?;
    let zero = signed(&a.zeros_like()?, a)?.mul(&side(b)?)?;
    choose(&vanishes, &zero, &product)
}
