//! The Airy function Ai: a polynomial about its first zero, the decaying exponential from 1 on (DLMF 9.7.5) and amplitude and phase below -3.25 (DLMF 9.7.9),
//! whose series are rational approximations. All are fitted for this purpose, with errors of 1e-16. f32 takes the same.

use std::f64::consts::PI;

use super::exp::exp_scaled;
use super::{cos, in_double, polynomial, sin};
use crate::Float;

in_double! {
    /// The Airy function Ai. Error: f32 0.51, f64 6 units of the last place of the greater of the result and its amplitude; beyond magnitudes of 1 times
    /// `|x|^(3/2)`, the units of the phase.
    airy_ai = ai;
}

/// The greatest zero: its nearest f64, and the rest.
const ZERO: (f64, f64) = (-2.338107410459767, -3.912260409818305e-17);

#[inline(always)]
fn ai<V: Float>(x: V, _: bool) -> V {
    let from_zero = (x - V::splat(ZERO.0)) - V::splat(ZERO.1);
    let near = from_zero
        * polynomial(
            x,
            [
                5.994492300994447e-18,
                9.834353965004667e-17,
                3.7199586300467656e-16,
                1.9214967563100834e-16,
                1.0360964155516094e-14,
                -2.679029280945059e-14,
                -4.034974937276189e-13,
                4.1427350598606554e-12,
                -9.67224910575032e-12,
                -1.2969318846849716e-10,
                1.2915529747372033e-09,
                -3.0198836931509657e-09,
                -2.9515607826897735e-08,
                2.7654203313529427e-07,
                -6.465848115390733e-07,
                -4.194110349047982e-06,
                3.720042036111566e-05,
                -8.697857856703642e-05,
                -0.00031016530395648953,
                0.002697577872820298,
                -0.006307226814737664,
                -0.0068213098944148185,
                0.0751202975278104,
                -0.1756393243257158,
                0.15184420198129575,
            ],
        );
    let y = V::select_rarely(
        x.gt(V::splat(1.0)),
        #[inline(always)]
        || decaying(x),
        near,
    );
    V::select_rarely(
        x.lt(V::splat(-3.25)),
        #[inline(always)]
        || oscillating(-x),
        y,
    )
}

/// `2/3 x^(3/2)` and the fourth root of `x`.
#[inline(always)]
fn phase<V: Float>(x: V) -> (V, V) {
    let root = x.sqrt();
    (V::splat(2.0 / 3.0) * x * root, root.sqrt())
}

/// Above 1; 0 from 1000 on.
#[inline(always)]
fn decaying<V: Float>(x: V) -> V {
    let (zeta, root) = phase(x.clamp(V::splat(1.0), V::splat(1000.0)));
    let u = V::splat(1.0) / zeta;
    let p = polynomial(
        u,
        [
            0.006382241562062176,
            0.5373986482784331,
            8.363228893753664,
            45.71230953006047,
            111.3517840740699,
            135.29598183851772,
            86.0756591166568,
            28.605474787936924,
            4.621631880527509,
            0.28209479177387814,
        ],
    );
    let q = polynomial(
        u,
        [
            0.04258477015383407,
            2.606573216378369,
            35.478183016183976,
            180.32589178198322,
            420.8049346325323,
            498.0168510404374,
            311.6760070390949,
            102.50918321405638,
            16.45270289266181,
            1.0,
        ],
    );
    exp_scaled(-zeta, V::splat(0.0), p / (q * root), false)
}

/// Of `-x`, for x above 3.25; 0 for infinity.
#[inline(always)]
fn oscillating<V: Float>(x: V) -> V {
    let (zeta, root) = phase(x);
    let u = V::splat(1.0) / zeta;
    let w = u * u;
    let even = polynomial(
        w,
        [
            63827.69808712884,
            308641.84204914386,
            224285.8641906991,
            48122.2424309498,
            3763.0476511105385,
            110.43339980979141,
            1.0,
        ],
    ) / polynomial(
        w,
        [
            69598.47369264974,
            315061.8141153083,
            225889.7429116062,
            48256.0507549925,
            3767.092158105474,
            110.47053329744519,
            1.0,
        ],
    );
    let odd = polynomial(
        w,
        [
            10506.860115207846,
            47836.395181085645,
            28866.944313989465,
            5183.196508714381,
            345.03595433485725,
            8.755334027054014,
            0.06944444444444423,
        ],
    ) / polynomial(
        w,
        [
            320242.01691223995,
            851636.466532141,
            450920.074114516,
            77194.23739725191,
            5036.121863666095,
            126.62391004098195,
            1.0,
        ],
    );
    let (s, c) = (sin(zeta), cos(zeta));
    let y = (even * (s + c) + u * odd * (s - c)) / (root * V::splat((2.0 * PI).sqrt()));
    V::select(x.eq(V::splat(f64::INFINITY)), V::splat(0.0), y)
}
