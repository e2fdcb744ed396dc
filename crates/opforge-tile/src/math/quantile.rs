//! The inverses of the error function and of the normal distribution function.
//!
//! As Giles has it ("Approximating the erfinv function", 2012), erfinv(x) is x times a polynomial in -log(1 - x^2) but near the ends. There it is a
//! rational function of the root of -log(p), p the distance to the end over 2, as in Wichura's algorithm AS 241 (1988). All approximations are fitted for
//! this purpose, with relative errors of 4e-10 (f32) and 2e-17 (f64).

use std::f64::consts::SQRT_2;

use super::log::log_to;
use super::{fitted, in_double, polynomial};
use crate::Float;

in_double! {
    /// The inverse of the error function; NaN outside of -1 to 1. Error: f32 0.51, f64 4.
    erf_inv = inverse_erf;
    /// The inverse of the normal distribution function; NaN outside of 0 to 1. Error: f32 0.51, f64 4 units of the last place of the greater of the
    /// result and 1/4.
    ndtri = normal_quantile;
}

#[inline(always)]
fn inverse_erf<V: Float>(x: V, short: bool) -> V {
    let (t, one) = (x.abs(), V::splat(1.0));
    let w = -log_to((one - t) * (one + t), short);
    V::select_rarely(
        w.gt(V::splat(CENTRAL)),
        #[inline(always)]
        || outer((one - t) * V::splat(0.5), short).copysign(x),
        x * central(w, short),
    )
}

#[inline(always)]
fn normal_quantile<V: Float>(p: V, short: bool) -> V {
    let (one, root) = (V::splat(1.0), V::splat(SQRT_2));
    let rest = one - p;
    let side = p - V::splat(0.5);
    let w = -log_to(V::splat(4.0) * p * rest, short);
    V::select_rarely(
        w.gt(V::splat(CENTRAL)),
        #[inline(always)]
        || (outer(p.min(rest), short) * root).copysign(side),
        (side + side) * root * central(w, short),
    )
}

/// The greatest argument of [`central`].
const CENTRAL: f64 = 5.0;

/// erfinv(x) / x of `w = -log(1 - x^2)` up to 5.
#[inline(always)]
fn central<V: Float>(w: V, short: bool) -> V {
    fitted(
        w,
        short,
        [
            1.3287755742308382e-10,
            -3.217121249591293e-09,
            2.3727831644738297e-08,
            4.482172154177974e-08,
            -1.4362680395315154e-06,
            3.1174826453660333e-06,
            4.492843623549756e-05,
            -0.00012649312368524673,
            -0.002335916813872661,
            0.011549558408319418,
            0.23201364446378972,
            0.8862269258189193,
        ],
        [
            -6.765085206308906e-20,
            3.890037160010496e-18,
            -1.0168965001822663e-16,
            1.5798565058950623e-15,
            -1.5931840610109762e-14,
            1.0623259924513329e-13,
            -4.553804071893612e-13,
            1.2431918108316723e-12,
            -3.713923073019621e-12,
            2.0681385655923308e-11,
            -2.966812155816775e-11,
            -5.079118307876389e-10,
            7.397449099143091e-10,
            2.280240083218892e-08,
            -3.7297775429173885e-08,
            -1.0125554067372885e-06,
            2.019990414359175e-06,
            4.6611439553973174e-05,
            -0.00012804329400437235,
            -0.0023351016416538898,
            0.011549342038274582,
            0.23201366653465436,
            0.886226925452758,
        ],
    )
}

/// erfinv(1 - 2 p) for p up to 0.0017.
#[inline(always)]
fn outer<V: Float>(p: V, short: bool) -> V {
    let r = (-log_to(p, short)).sqrt();
    let near = fitted(
        r,
        short,
        [0.34965900828337254, 2.9300212164868578, 3.3247728554088956, -2.627284051949518, -1.9735562603410282],
        [
            0.006425819428431203,
            -0.004021140441546744,
            -1.636169648768663,
            -6.067009877721451,
            3.6776399698518785,
            10.98426297934285,
            -4.751505901778279,
            -2.2111147542443157,
        ],
    ) / fitted(
        r,
        short,
        [1.795049731130176e-06, 0.34951025607641095, 2.938109152874276, 4.1038329565990015, 1.0],
        [
            9.832099957946289e-09,
            0.00642459009747407,
            -0.003916757359548338,
            -1.6213375936916126,
            -6.178442426521367,
            0.7393328183179209,
            6.051614481740693,
            1.0,
        ],
    );
    let y = if short {
        near
    } else {
        V::select_rarely(
            r.gt(V::splat(7.0)),
            #[inline(always)]
            || {
                polynomial(
                    r,
                    [
                        7.785558889698896e-05,
                        0.008469569335618921,
                        0.24460701919479533,
                        2.3477026644380508,
                        7.058221655229704,
                        2.829618295833634,
                        -6.159604562702364,
                        -2.132477369121362,
                    ],
                ) / polynomial(
                    r,
                    [
                        8.576806830426103e-13,
                        7.785512824742331e-05,
                        0.008469759636225626,
                        0.24487340648822997,
                        2.36981273861614,
                        7.556888506555689,
                        6.400012310632473,
                        1.0,
                    ],
                )
            },
            near,
        )
    };
    V::select(p.eq(V::splat(0.0)), V::splat(f64::INFINITY), y)
}
