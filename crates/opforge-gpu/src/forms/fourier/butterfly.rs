//! Complex numbers in kernels, and transforms of so few that they are in registers.

use std::f64::consts::TAU;
use std::ops::{Add, Sub};

use crate::value::Value;

/// A complex number.
#[derive(Clone, Copy)]
pub(super) struct Complex<'a> {
    pub re: Value<'a>,
    pub im: Value<'a>,
}

impl<'a> Add for Complex<'a> {
    type Output = Complex<'a>;
    fn add(self, other: Complex<'a>) -> Complex<'a> {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<'a> Sub for Complex<'a> {
    type Output = Complex<'a>;
    fn sub(self, other: Complex<'a>) -> Complex<'a> {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<'a> Complex<'a> {
    /// The product.
    pub fn times(self, other: Complex<'a>) -> Complex<'a> {
        Complex {
            re: self.re.mul_add(other.re, -(self.im * other.im)),
            im: self.re.mul_add(other.im, self.im * other.re),
        }
    }

    pub fn conjugate(self) -> Complex<'a> {
        Complex { re: self.re, im: -self.im }
    }

    /// Both parts multiplied by a real number.
    pub fn scaled(self, factor: Value<'a>) -> Complex<'a> {
        Complex { re: self.re * factor, im: self.im * factor }
    }

    /// Multiplied by the imaginary unit, or by its opposite.
    pub fn quarter_turn(self, sign: f64) -> Complex<'a> {
        if sign > 0.0 { Complex { re: -self.im, im: self.re } } else { Complex { re: self.im, im: -self.re } }
    }

    /// Turned by `sign k / n` of a turn.
    fn turned(self, sign: f64, k: usize, n: usize) -> Complex<'a> {
        match k {
            0 => self,
            k if 4 * k == n => self.quarter_turn(sign),
            k => {
                let angle = sign * TAU * k as f64 / n as f64;
                self.times(Complex { re: self.re.like(angle.cos()), im: self.re.like(angle.sin()) })
            }
        }
    }
}

/// The transform of a few numbers, with an exponent of this sign.
pub(super) fn transform<'a>(x: &[Complex<'a>], sign: f64) -> Vec<Complex<'a>> {
    match x.len() {
        0 | 1 => x.to_vec(),
        n if n % 2 == 0 => by_halves(x, sign),
        _ => by_sums(x, sign),
    }
}

/// From the transforms of the numbers at even places and of those at odd ones.
fn by_halves<'a>(x: &[Complex<'a>], sign: f64) -> Vec<Complex<'a>> {
    let of = |first: usize| transform(&x.iter().skip(first).step_by(2).copied().collect::<Vec<_>>(), sign);
    let turned = of(1).into_iter().enumerate().map(|(k, odd)| odd.turned(sign, k, x.len()));
    let (sums, differences): (Vec<_>, Vec<_>) =
        of(0).into_iter().zip(turned).map(|(even, odd)| (even + odd, even - odd)).unzip();
    [sums, differences].concat()
}

/// Of an odd number: numbers `j` and `n - j` have conjugate factors, so that their sums and differences are multiplied by real ones.
fn by_sums<'a>(x: &[Complex<'a>], sign: f64) -> Vec<Complex<'a>> {
    let n = x.len();
    let pairs: Vec<_> = (1..=n / 2).map(|j| (x[j] + x[n - j], (x[j] - x[n - j]).quarter_turn(sign))).collect();
    let mut all = vec![pairs.iter().fold(x[0], |all, (sum, _)| all + *sum); n];
    for k in 1..=n / 2 {
        let mut even = x[0];
        let mut odd: Option<Complex<'a>> = None;
        for (j, (sum, difference)) in pairs.iter().enumerate() {
            let angle = TAU * ((j + 1) * k % n) as f64 / n as f64;
            let [cos, sin] = [angle.cos(), angle.sin()].map(|wave| x[0].re.like(wave));
            even = Complex { re: sum.re.mul_add(cos, even.re), im: sum.im.mul_add(cos, even.im) };
            odd = Some(match odd {
                None => difference.scaled(sin),
                Some(odd) => Complex { re: difference.re.mul_add(sin, odd.re), im: difference.im.mul_add(sin, odd.im) },
            });
        }
        if let Some(odd) = odd {
            (all[k], all[n - k]) = (even + odd, even - odd);
        }
    }
    all
}
