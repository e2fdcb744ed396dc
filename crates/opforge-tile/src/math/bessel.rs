//! The Bessel functions of orders 0 and 1: up to `x^2 = 32` polynomials, with the zeros of the first kind as factors and the logarithm of the second kind apart
//! (DLMF 10.8.2); further out amplitudes and phases (DLMF 10.17.3 and 10.17.4), whose series are rational approximations. All are fitted for this purpose, with
//! errors of 1e-16. f32 takes the same.

use std::f64::consts::{FRAC_2_PI, FRAC_2_SQRT_PI};

use super::{cos, in_double, log, polynomial, sin};
use crate::Float;

in_double! {
    /// The Bessel function of the first kind and order 0. Error: f32 0.51, f64 4 units of the last place of the greater of the result and `1 / sqrt(x)`.
    bessel_j0 = j0;
    /// That of order 1. Error: as [`bessel_j0`].
    bessel_j1 = j1;
    /// The Bessel function of the second kind and order 0; NaN below 0. Error: as [`bessel_j0`].
    bessel_y0 = y0;
    /// That of order 1. Error: as [`bessel_j0`].
    bessel_y1 = y1;
    /// The spherical Bessel function of the first kind and order 0: `sin(x) / x`. Error: f32 0.51, f64 3.
    spherical_j0 = sine_quotient;
}

/// The greatest square of an argument of the polynomials.
const NEAR: f64 = 32.0;

/// `z - zero`, of which the second part is what the first lacks.
#[inline(always)]
fn from_zero<V: Float>(z: V, (zero, rest): (f64, f64)) -> V {
    (z - V::splat(zero)) - V::splat(rest)
}

/// `J_0` of the square `z`.
#[inline(always)]
fn j0_near<V: Float>(z: V) -> V {
    let p = polynomial(
        z,
        [
            -2.8445458024751715e-28,
            2.394924453154737e-25,
            -1.4029753563691345e-22,
            6.72698066474944e-20,
            -2.6504809836439776e-17,
            8.413182199420806e-15,
            -2.0931213828007828e-12,
            3.9358273773740217e-10,
            -5.317886335143628e-08,
            4.784356140903036e-06,
            -0.0002512023541494331,
            0.005674693325155617,
        ],
    );
    from_zero(z, (5.783185962946784, 4.123247343506204e-16))
        * from_zero(z, (30.471262343662087, -2.366534485750659e-16))
        * p
}

/// `J_1(x) / x` of the square `z`.
#[inline(always)]
fn j1_near<V: Float>(z: V) -> V {
    let p = polynomial(
        z,
        [
            -1.0046112433856071e-29,
            8.943370269800288e-27,
            -5.6288708626193976e-24,
            2.9245870928407554e-21,
            -1.2574650142247832e-18,
            4.389758832573043e-16,
            -1.212160387704548e-13,
            2.5576334446773158e-11,
            -3.929471053723043e-09,
            4.0859145336520785e-07,
            -2.5304774079730497e-05,
            0.0006919228366408253,
        ],
    );
    from_zero(z, (14.681970642123893, -9.858177825793294e-17))
        * from_zero(z, (49.2184563216946, 5.086354069436341e-16))
        * p
}

/// For large `x`: with `a` and `b` the even and the odd part of the series, `a (sin + cos) - b (sin - cos)` and `a (sin - cos) + b (sin + cos)`, over
/// `sqrt(pi x)`.
#[inline(always)]
fn turned<V: Float>(x: V, a: V, b: V) -> (V, V) {
    let (s, c) = (sin(x), cos(x));
    let (sum, difference) = (s + c, s - c);
    let scale = V::splat(FRAC_2_SQRT_PI * 0.5) / x.sqrt();
    ((a * sum - b * difference) * scale, (a * difference + b * sum) * scale)
}

/// `J_0` and `Y_0` of large x.
#[inline(always)]
fn order_0_far<V: Float>(x: V) -> (V, V) {
    let u = V::splat(1.0) / x;
    let w = u * u;
    let a = polynomial(
        w,
        [
            15175.827839984686,
            48792.18075955125,
            21099.135855475877,
            2478.40409944331,
            93.79091628609955,
            0.9999999999999999,
        ],
    ) / polynomial(
        w,
        [17272.960009156242, 50056.275214845555, 21263.90055974424, 2484.8915649945293, 93.86122878609866, 1.0],
    );
    let b = polynomial(
        w,
        [
            -4554.9631253841635,
            -12485.427303676659,
            -4331.209692560944,
            -420.56175596873493,
            -13.519267847300902,
            -0.12499999999999967,
        ],
    ) / polynomial(
        w,
        [68891.17630574152, 116337.34070083138, 36473.58496550978, 3426.3920745990513, 108.74008027837206, 1.0],
    );
    turned(x, a, b * u)
}

/// `J_1` and `Y_1` of large x, whose phase is a quarter turn behind.
#[inline(always)]
fn order_1_far<V: Float>(x: V) -> (V, V) {
    let u = V::splat(1.0) / x;
    let w = u * u;
    let a = polynomial(
        w,
        [14177.600287070962, 43355.20197313749, 19477.132426272507, 2366.4281381934215, 91.9152461194369, 1.0],
    ) / polynomial(
        w,
        [11014.542064270556, 41388.07715808415, 19213.620666616156, 2355.8147487535193, 91.79805861943794, 1.0],
    );
    let b = polynomial(
        w,
        [
            14224.647771787744,
            35026.55335197048,
            12292.737679124053,
            1218.3315650256498,
            39.91176148776053,
            0.3749999999999996,
        ],
    ) / polynomial(
        w,
        [51860.062094324, 100661.20539014488, 33603.10904476668, 3277.321063723901, 106.70480146734798, 1.0],
    );
    let (cosine, sine) = turned(x, a, b * u);
    (sine, -cosine)
}

/// `near`, but where the square `z` is great, `far`, and 0 for infinity.
#[inline(always)]
fn or_far<V: Float>(x: V, z: V, near: V, far: impl FnOnce() -> V) -> V {
    V::select_rarely(
        z.gt(V::splat(NEAR)),
        #[inline(always)]
        || V::select(x.eq(V::splat(f64::INFINITY)), V::splat(0.0), far()),
        near,
    )
}

#[inline(always)]
fn j0<V: Float>(x: V, _: bool) -> V {
    let (t, z) = (x.abs(), x * x);
    or_far(
        t,
        z,
        j0_near(z),
        #[inline(always)]
        || order_0_far(t).0,
    )
}

#[inline(always)]
fn j1<V: Float>(x: V, _: bool) -> V {
    let (t, z) = (x.abs(), x * x);
    or_far(
        t,
        z,
        x * j1_near(z),
        #[inline(always)]
        || {
            let y = order_1_far(t).0;
            V::select(x.lt(V::splat(0.0)), -y, y)
        },
    )
}

#[inline(always)]
fn y0<V: Float>(x: V, _: bool) -> V {
    let z = x * x;
    let regular = polynomial(
        z - V::splat(0.5 * NEAR),
        [
            -7.99695973975781e-31,
            6.013176643344241e-28,
            -3.870556258429932e-25,
            2.1113372134480857e-22,
            -9.592898131416231e-20,
            3.561052593270749e-17,
            -1.0543596346239223e-14,
            2.413742126348021e-12,
            -4.097112753593965e-10,
            4.853662645504054e-08,
            -3.6393183431198308e-06,
            0.00014165988250385643,
            -0.0012350105881785616,
            -0.04912542405343489,
            0.33356080727422077,
        ],
    );
    or_far(
        x,
        z,
        (log(x) * V::splat(FRAC_2_PI)).mul_add(j0_near(z), regular),
        #[inline(always)]
        || order_0_far(x).1,
    )
}

#[inline(always)]
fn y1<V: Float>(x: V, _: bool) -> V {
    let z = x * x;
    let regular = polynomial(
        z - V::splat(0.5 * NEAR),
        [
            2.1944595027936595e-29,
            -1.544700824205512e-26,
            9.165340595767054e-24,
            -4.574999589338124e-21,
            1.885593433468737e-18,
            -6.281932689520127e-16,
            1.6470138878397022e-13,
            -3.2814382321056355e-11,
            4.735318086769361e-09,
            -4.61081856385011e-07,
            2.6905395614727265e-05,
            -0.0007254671524024162,
            0.001137143247931313,
            0.15384167272680302,
        ],
    );
    let pole = V::splat(-FRAC_2_PI) / x.abs();
    let near = (log(x) * V::splat(FRAC_2_PI)).mul_add(j1_near(z), regular).mul_add(x, pole);
    or_far(
        x,
        z,
        V::select(z.eq(V::splat(0.0)) & x.ge(V::splat(0.0)), pole, near),
        #[inline(always)]
        || order_1_far(x).1,
    )
}

#[inline(always)]
fn sine_quotient<V: Float>(x: V, _: bool) -> V {
    let (t, zero) = (x.abs(), V::splat(0.0));
    let y = V::select(t.eq(zero), V::splat(1.0), sin(t) / t);
    V::select(t.eq(V::splat(f64::INFINITY)), zero, y)
}
