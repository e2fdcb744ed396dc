//! Activations: tanh, the sigmoid and what is made of it.

use std::f64::consts::LOG2_E;

use super::{exp, exp_m1, exp2, pick, polynomial};
use crate::Float;

/// The hyperbolic tangent. Error: f32 2.5, f64 3; approximated 4.
#[inline(always)]
pub fn tanh<V: Float>(x: V) -> V {
    if V::approximates() {
        return tanh_by_power(x);
    }
    // From these on the result rounds to 1.
    let limit = pick::<V>(10.0, 22.0);
    let t = exp_m1(x.clamp(-limit, limit).abs() * V::splat(2.0));
    (t / (t + V::splat(2.0))).copysign(x)
}

/// [`tanh`] of machines with powers of two: near 0 by a polynomial, which was fitted for this purpose.
#[inline(always)]
fn tanh_by_power<V: Float>(x: V) -> V {
    let (t, square) = (x.abs(), x * x);
    let p = polynomial(square, [0.01561263, -0.0522118, 0.13313117, -0.33332598]);
    let near = (p * square).mul_add(t, t);
    let power = (t * V::splat(2.0 * LOG2_E)).exp2_or(exp2);
    let far = V::splat(1.0) - V::splat(2.0).over(power + V::splat(1.0));
    V::select(t.lt(V::splat(0.6)), near, far).copysign(x)
}

/// The numerator and denominator of the sigmoid; neither overflows.
#[inline(always)]
fn sigmoid_fraction<V: Float>(x: V) -> (V, V) {
    let (z, one) = (exp(-x.abs()), V::splat(1.0));
    (V::select(x.lt(V::splat(0.0)), z, one), one + z)
}

/// 1 / (1 + e^-x). Error: f32 2.4, f64 2.
#[inline(always)]
pub fn sigmoid<V: Float>(x: V) -> V {
    let (numerator, denominator) = sigmoid_fraction(x);
    numerator.over(denominator)
}

/// x * sigmoid(x); NaN for minus infinity. Error: f32 3.2, f64 3; more where the result is subnormal.
#[inline(always)]
pub fn silu<V: Float>(x: V) -> V {
    let (numerator, denominator) = sigmoid_fraction(x);
    (x * numerator).over(denominator)
}

/// The approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))); NaN for minus infinity. Error: f32 3.4, f64 4 units of the last place of the greater of the result and 1/8.
#[inline(always)]
pub fn gelu_tanh<V: Float>(x: V) -> V {
    // 1 + tanh(u) = 2 sigmoid(2u). Where e^-2u overflows the result is as good as 0.
    let scale = -2.0 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    let u = x * (x * x).mul_add(V::splat(scale * 0.044715), V::splat(scale));
    x.over(V::splat(1.0) + exp(u))
}
