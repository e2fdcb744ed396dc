//! Inverse and hyperbolic functions, all computed in vectors of f64: f32 rounds their results, and has shorter series where they cost much.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, LOG10_E, PI};

use super::log::{log_to, log_to_base};
use super::{exp, in_double, log, log_1p, polynomial};
use crate::Float;

/// What pi / 2 has beyond its nearest f64.
const REST_OF_HALF_PI: f64 = 6.123233995736765886130e-17;

in_double! {
    /// The arc sine. Error: f32 0.51, f64 2.
    asin = arc_sine;
    /// The arc cosine. Error: f32 0.51, f64 2.
    acos = arc_cosine;
    /// The arc tangent. Error: f32 0.51, f64 1.
    atan = arc_tangent;
    /// The hyperbolic sine. Error: f32 0.51, f64 3.
    sinh = hyperbolic_sine;
    /// The hyperbolic cosine. Error: f32 0.51, f64 3.
    cosh = hyperbolic_cosine;
    /// The inverse of the hyperbolic sine. Error: f32 0.51, f64 3.
    asinh = inverse_sinh;
    /// The inverse of the hyperbolic cosine. Error: f32 0.51, f64 3.
    acosh = inverse_cosh;
    /// The inverse of the hyperbolic tangent. Error: f32 0.51, f64 3.
    atanh = inverse_tanh;
}

/// The angle of the point `(x, y)`. Error: f32 0.51, f64 2.
#[inline(always)]
pub fn atan2<V: Float>(y: V, x: V) -> V {
    if V::DOUBLE {
        return angle(y, x, false);
    }
    y.via_f64_2(
        x,
        #[inline(always)]
        |y, x| angle(y, x, true),
    )
}

/// The logarithm to base 2, exact for powers of 2. Error: f32 0.51, f64 1.
#[inline(always)]
pub fn log2<V: Float>(x: V) -> V {
    if V::DOUBLE {
        return log_to_base(x, [1.4426946640014648, 3.768874985636099e-07], [1.0, 0.0]);
    }
    x.via_f64(
        #[inline(always)]
        |x| log_to(x, true) * splat(LOG2_E),
    )
}

/// The logarithm to base 10, exact for powers of 10. Error: f32 0.51, f64 1 (portable 2).
#[inline(always)]
pub fn log10<V: Float>(x: V) -> V {
    if V::DOUBLE {
        return log_to_base(
            x,
            [0.4342944622039795, 1.9699272335463627e-08],
            [0.3010299950838089, 5.801722962879576e-10],
        );
    }
    x.via_f64(
        #[inline(always)]
        |x| log_to(x, true) * splat(LOG10_E),
    )
}

#[inline(always)]
fn splat<V: Float>(x: f64) -> V {
    V::splat(x)
}

/// `(asin(t) - t) / t` of `t^2`, for t up to 1/2: fdlibm's rational approximation, or a polynomial fitted for this purpose.
#[inline(always)]
fn sine_excess<V: Float>(square: V, short: bool) -> V {
    if short {
        return square
            * polynomial(
                square,
                [
                    0.034691386608298784,
                    0.007470405939754975,
                    0.024617968444944047,
                    0.030110309737491014,
                    0.04466015977577018,
                    0.07499948164549176,
                    0.16666667189867995,
                ],
            );
    }
    let p = polynomial(
        square,
        [
            3.47933107596021167570e-05,
            7.91534994289814532176e-04,
            -4.00555345006794114027e-02,
            2.01212532134862925881e-01,
            -3.25565818622400915405e-01,
            1.66666666666666657415e-01,
        ],
    );
    let q = polynomial(
        square,
        [
            7.70381505559019352791e-02,
            -6.88283971605453293030e-01,
            2.02094576023350569471e+00,
            -2.40339491173441421878e+00,
            1.0,
        ],
    );
    square * p / q
}

/// The sine's angle in two parts: of magnitudes up to 1/2 itself; of others the angle whose half has the sine `sqrt((1 - |x|) / 2)`, and then
/// the angle from pi / 2.
#[inline(always)]
fn small_angle<V: Float>(t: V, short: bool) -> (V::Mask, V) {
    let large = t.gt(splat(0.5));
    let half = (splat::<V>(1.0) - t) * splat(0.5);
    let square = V::select(large, half, t * t);
    let root = V::select(large, half.sqrt(), t);
    (large, sine_excess(square, short).mul_add(root, root))
}

#[inline(always)]
fn arc_sine<V: Float>(x: V, short: bool) -> V {
    let (large, angle) = small_angle(x.abs(), short);
    let from_top = splat::<V>(FRAC_PI_2) - (angle + angle - splat(REST_OF_HALF_PI));
    V::select(large, from_top, angle).copysign(x)
}

#[inline(always)]
fn arc_cosine<V: Float>(x: V, short: bool) -> V {
    let (large, angle) = small_angle(x.abs(), short);
    let twice = angle + angle;
    let negative = x.lt(splat(0.0));
    let far = V::select(negative, splat::<V>(PI) - (twice - splat(2.0 * REST_OF_HALF_PI)), twice);
    let near = splat::<V>(FRAC_PI_2) - (angle.copysign(x) - splat(REST_OF_HALF_PI));
    V::select(large, far, near)
}

#[inline(always)]
fn arc_tangent<V: Float>(x: V, short: bool) -> V {
    acute(x.abs(), splat(1.0), short).copysign(x)
}

/// The arc tangent of `y / x`, neither of which is negative. Cephes: the angle is reduced to that of `-x / y` or `(y - x) / (y + x)`.
#[inline(always)]
fn acute<V: Float>(y: V, x: V, short: bool) -> V {
    let (upper, middle) = (y.gt(x * splat(2.41421356237309504880)), y.gt(x * splat(0.66)));
    let above = V::select(upper, -x, V::select(middle, y - x, y));
    let below = V::select(upper, y, V::select(middle, y + x, x));
    let turned = |whole: f64| V::select(upper, splat(whole), V::select(middle, splat(0.5 * whole), splat(0.0)));
    let r = above / below;
    let angle = tangent_excess(r * r, short).mul_add(r, r);
    if short { turned(FRAC_PI_2) + angle } else { turned(FRAC_PI_2) + (angle + turned(REST_OF_HALF_PI)) }
}

/// `(atan(t) - t) / t` of `t^2`, for t up to 0.66: Cephes' rational approximation, or a polynomial fitted for this purpose.
#[inline(always)]
fn tangent_excess<V: Float>(square: V, short: bool) -> V {
    if short {
        return square
            * polynomial(
                square,
                [
                    0.013073710582453338,
                    -0.04035352441791965,
                    0.06735619166410195,
                    -0.0887454296681589,
                    0.11081590830291635,
                    -0.14283443931217835,
                    0.19999914666600865,
                    -0.333333322308969,
                ],
            );
    }
    let p = polynomial(
        square,
        [
            -8.750608600031904122785e-1,
            -1.615753718733365076637e1,
            -7.500855792314704667340e1,
            -1.228866684490136173410e2,
            -6.485021904942025371773e1,
        ],
    );
    let q = polynomial(
        square,
        [
            1.0,
            2.485846490142306297962e1,
            1.650270098316988542046e2,
            4.328810604912902668951e2,
            4.853903996359136964868e2,
            1.945506571482613964425e2,
        ],
    );
    square * p / q
}

#[inline(always)]
fn angle<V: Float>(y: V, x: V, short: bool) -> V {
    let (a, b) = (y.abs(), x.abs());
    let (zero, one) = (splat::<V>(0.0), splat::<V>(1.0));
    // Both zero or both infinite: as if the one were 0 and 1, or both 1.
    let (same, none) = (a.eq(b), a.eq(zero));
    let of_same = V::select(none, zero, one);
    let acute = match short {
        true => acute(V::select(same, of_same, a), V::select(same, one, b), true),
        // Their sum may overflow.
        false => acute(V::select(same, of_same, a / b), one, false),
    };
    let obtuse = (splat::<V>(PI) - acute) + splat(2.0 * REST_OF_HALF_PI);
    let left = one.copysign(x).lt(zero);
    let size = V::select(left, obtuse, acute).copysign(y);
    V::select(x.is_nan() | y.is_nan(), x + y, size)
}

/// e^t / 2 for large t, by way of the half where e^t would overflow.
#[inline(always)]
fn half_exp<V: Float>(t: V) -> V {
    V::select_rarely(
        t.gt(splat(709.0)),
        #[inline(always)]
        || {
            let root = exp(t * splat(0.5));
            root * splat(0.5) * root
        },
        exp(t) * splat(0.5),
    )
}

/// Cephes' rational approximation up to 1.
#[inline(always)]
fn hyperbolic_sine<V: Float>(x: V, _: bool) -> V {
    let square = x * x;
    let p = polynomial(
        square,
        [-7.89474443963537015605e-1, -1.63725857525983828727e2, -1.15614435765005216044e4, -3.51754964808151394800e5],
    );
    let q = polynomial(square, [1.0, -2.77711081420602794433e2, 3.61578279834431989373e4, -2.11052978884890840399e6]);
    let near = (square * p / q).mul_add(x, x);
    let half = half_exp(x.abs());
    let far = (half - splat::<V>(0.25) / half).copysign(x);
    V::select(x.abs().gt(splat(1.0)), far, near)
}

#[inline(always)]
fn hyperbolic_cosine<V: Float>(x: V, _: bool) -> V {
    let half = half_exp(x.abs());
    half + splat::<V>(0.25) / half
}

/// Where the square of what is taken the logarithm of no longer matters.
const LARGE: f64 = 1e9;

#[inline(always)]
fn inverse_sinh<V: Float>(x: V, _: bool) -> V {
    let (t, one) = (x.abs(), splat::<V>(1.0));
    let square = t * t;
    let near = log_1p(t + square / (one + (square + one).sqrt()));
    let far = log(t) + splat(LN_2);
    let y = V::select(t.gt(splat(LARGE)), far, near).copysign(x);
    V::select(x.is_nan(), x, y)
}

#[inline(always)]
fn inverse_cosh<V: Float>(x: V, _: bool) -> V {
    let t = x - splat(1.0);
    let near = log_1p(t + (t * (t + splat(2.0))).sqrt());
    let y = V::select(x.gt(splat(LARGE)), log(x) + splat(LN_2), near);
    V::select(x.lt(splat(1.0)), splat(f64::NAN), y)
}

#[inline(always)]
fn inverse_tanh<V: Float>(x: V, short: bool) -> V {
    let (t, one) = (x.abs(), splat::<V>(1.0));
    let y = if short {
        let near = (t * t * splat(1.0 / 3.0)).mul_add(t, t);
        V::select(t.lt(splat(1e-3)), near, log_to((one + t) / (one - t), true) * splat(0.5))
    } else {
        log_1p((t + t) / (one - t)) * splat(0.5)
    };
    V::select(x.is_nan(), x, y.copysign(x))
}
