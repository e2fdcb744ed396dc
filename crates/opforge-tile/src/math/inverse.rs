//! Inverse and hyperbolic functions, all computed in vectors of f64: f32 rounds their results.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, LOG10_E, PI};

use super::lanes::intrinsic;
use super::{exp, log, log_1p, polynomial};
use crate::{Float, Intrinsic};

/// What pi / 2 has beyond its nearest f64.
const REST_OF_HALF_PI: f64 = 6.123233995736765886130e-17;

macro_rules! in_double {
    ($($(#[doc = $doc:literal])* $name:ident = $function:ident;)*) => {
        $($(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<V: Float>(x: V) -> V {
            x.via_f64(#[inline(always)] |x| $function(x))
        })*
    };
}

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
// The function itself would be called through a shim that is not inlined.
#[allow(clippy::redundant_closure)]
#[inline(always)]
pub fn atan2<V: Float>(y: V, x: V) -> V {
    y.via_f64_2(
        x,
        #[inline(always)]
        |y, x| angle(y, x),
    )
}

/// The distance of the point `(a, b)` from the origin. Error: f32 0.51, f64 that of libm, lane by lane.
#[inline(always)]
pub fn hypot<V: Float>(a: V, b: V) -> V {
    if V::DOUBLE {
        return a.call_2(b, intrinsic!("hypot", |a, b| f64::hypot(a, b)));
    }
    a.via_f64_2(
        b,
        #[inline(always)]
        |a, b| {
            let infinite = splat(f64::INFINITY);
            let any = a.abs().eq(infinite) | b.abs().eq(infinite);
            Float::select(any, infinite, a.mul_add(a, b * b).sqrt())
        },
    )
}

/// The logarithm to base 2, exact for powers of 2. Error: f32 0.51, f64 that of libm, lane by lane.
#[inline(always)]
pub fn log2<V: Float>(x: V) -> V {
    if V::DOUBLE {
        return x.call(intrinsic!("log2", |x| x.log2()));
    }
    x.via_f64(
        #[inline(always)]
        |x| log(x) * splat(LOG2_E),
    )
}

/// The logarithm to base 10. Error: f32 0.51, f64 that of libm, lane by lane.
#[inline(always)]
pub fn log10<V: Float>(x: V) -> V {
    if V::DOUBLE {
        return x.call(intrinsic!("log10", |x| x.log10()));
    }
    x.via_f64(
        #[inline(always)]
        |x| log(x) * splat(LOG10_E),
    )
}

#[inline(always)]
fn splat<V: Float>(x: f64) -> V {
    V::splat(x)
}

/// `(asin(t) - t) / t` of `t^2`, for t up to 1/2: fdlibm's rational approximation.
#[inline(always)]
fn sine_excess<V: Float>(square: V) -> V {
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
fn small_angle<V: Float>(t: V) -> (V::Mask, V) {
    let large = t.gt(splat(0.5));
    let half = (splat::<V>(1.0) - t) * splat(0.5);
    let square = V::select(large, half, t * t);
    let root = V::select(large, half.sqrt(), t);
    (large, sine_excess(square).mul_add(root, root))
}

#[inline(always)]
fn arc_sine<V: Float>(x: V) -> V {
    let (large, angle) = small_angle(x.abs());
    let from_top = splat::<V>(FRAC_PI_2) - (angle + angle - splat(REST_OF_HALF_PI));
    V::select(large, from_top, angle).copysign(x)
}

#[inline(always)]
fn arc_cosine<V: Float>(x: V) -> V {
    let (large, angle) = small_angle(x.abs());
    let twice = angle + angle;
    let negative = x.lt(splat(0.0));
    let far = V::select(negative, splat::<V>(PI) - (twice - splat(2.0 * REST_OF_HALF_PI)), twice);
    let near = splat::<V>(FRAC_PI_2) - (angle.copysign(x) - splat(REST_OF_HALF_PI));
    V::select(large, far, near)
}

/// Cephes: the angle is reduced to that of `-1 / x` or `(x - 1) / (x + 1)`, whose rational approximation is odd.
#[inline(always)]
fn arc_tangent<V: Float>(x: V) -> V {
    let (t, one) = (x.abs(), splat::<V>(1.0));
    let (upper, middle) = (t.gt(splat(2.41421356237309504880)), t.gt(splat(0.66)));
    let above = V::select(upper, -one, V::select(middle, t - one, t));
    let below = V::select(upper, t, V::select(middle, t + one, one));
    let turned = |whole: f64| V::select(upper, splat(whole), V::select(middle, splat(0.5 * whole), splat(0.0)));
    let r = above / below;
    let square = r * r;
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
    let angle = (square * p / q).mul_add(r, r) + turned(REST_OF_HALF_PI);
    (turned(FRAC_PI_2) + angle).copysign(x)
}

#[inline(always)]
fn angle<V: Float>(y: V, x: V) -> V {
    let (a, b) = (y.abs(), x.abs());
    let zero = splat::<V>(0.0);
    // Both zero or both infinite: as if the one were 0 and 1, or both 1.
    let (same, none) = (a.eq(b), a.eq(zero));
    let slope = V::select(same, V::select(none, zero, splat(1.0)), a / b);
    let acute = arc_tangent(slope);
    let obtuse = (splat::<V>(PI) - acute) + splat(2.0 * REST_OF_HALF_PI);
    let left = splat::<V>(1.0).copysign(x).lt(zero);
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
fn hyperbolic_sine<V: Float>(x: V) -> V {
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
fn hyperbolic_cosine<V: Float>(x: V) -> V {
    let half = half_exp(x.abs());
    half + splat::<V>(0.25) / half
}

/// Where the square of what is taken the logarithm of no longer matters.
const LARGE: f64 = 1e9;

#[inline(always)]
fn inverse_sinh<V: Float>(x: V) -> V {
    let (t, one) = (x.abs(), splat::<V>(1.0));
    let square = t * t;
    let near = log_1p(t + square / (one + (square + one).sqrt()));
    let far = log(t) + splat(LN_2);
    let y = V::select(t.gt(splat(LARGE)), far, near).copysign(x);
    V::select(x.is_nan(), x, y)
}

#[inline(always)]
fn inverse_cosh<V: Float>(x: V) -> V {
    let t = x - splat(1.0);
    let near = log_1p(t + (t * (t + splat(2.0))).sqrt());
    let y = V::select(x.gt(splat(LARGE)), log(x) + splat(LN_2), near);
    V::select(x.lt(splat(1.0)), splat(f64::NAN), y)
}

#[inline(always)]
fn inverse_tanh<V: Float>(x: V) -> V {
    let t = x.abs();
    let y = log_1p((t + t) / (splat::<V>(1.0) - t)) * splat(0.5);
    V::select(x.is_nan(), x, y.copysign(x))
}
