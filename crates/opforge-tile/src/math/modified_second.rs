//! The modified Bessel functions of the second kind: up to 1 series and logarithms, and further out the exponential over a root times a rational function of
//! 1 / x, as DLMF 10.40.2 has it. All are fitted for this purpose, with relative errors of 2e-10 (f32) and 3e-17 (f64).

use super::exp::{exp_scaled, exp_to};
use super::log::log_to;
use super::{fitted, in_double};
use crate::Float;

in_double! {
    /// The modified Bessel function of the second kind and order 0; NaN below 0. Error: f32 0.51, f64 4.
    bessel_k0 = k0;
    /// That of order 1. Error: f32 0.51, f64 4.
    bessel_k1 = k1;
    /// `K_0(x) exp(x)`. Error: f32 0.51, f64 4.
    bessel_k0e = k0_scaled;
    /// `K_1(x) exp(x)`. Error: f32 0.51, f64 5.
    bessel_k1e = k1_scaled;
}

#[inline(always)]
fn one<V: Float>() -> V {
    V::splat(1.0)
}

/// `K_0(x)` up to 1, by DLMF 10.31.2: a series less the logarithm times `I_0`.
#[inline(always)]
fn k0_near<V: Float>(x: V, short: bool) -> V {
    let z = x * x;
    let series = fitted(
        z,
        short,
        [
            1.661802203776106e-07,
            1.4911058537046763e-05,
            0.000846036833264852,
            0.025248929568432735,
            0.27898287894108076,
            0.1159315156581242,
        ],
        [
            6.61167694691929e-12,
            1.2082661247984188e-09,
            1.6271068922748832e-07,
            1.4914719243094256e-05,
            0.000846035090721369,
            0.025248929932161216,
            0.27898287891460316,
            0.11593151565841245,
        ],
    );
    let i0 = fitted(
        z,
        short,
        [6.95117075958921e-06, 0.00043388114550778584, 0.01562505141842336, 0.24999999374545964, 1.000000000119963],
        [
            2.440350751161507e-12,
            4.7088964089079e-10,
            6.781689114182614e-08,
            6.781684004197248e-06,
            0.0004340277777836985,
            0.015624999999999273,
            0.25000000000000006,
            1.0,
        ],
    );
    series - log_to(x, short) * i0
}

/// `K_1(x)` up to 1, by DLMF 10.31.1.
#[inline(always)]
fn k1_near<V: Float>(x: V, short: bool) -> V {
    let z = x * x;
    let series = fitted(
        z,
        short,
        [
            -1.5942795403174447e-06,
            -0.00011250585023554097,
            -0.004642193341715118,
            -0.0853707184458993,
            -0.3079657578537046,
        ],
        [
            -4.221990493032676e-13,
            -8.870924871545074e-11,
            -1.4030171840089614e-08,
            -1.559288766434508e-06,
            -0.0001125360703672508,
            -0.004642182766471444,
            -0.08537071972865079,
            -0.3079657578292062,
        ],
    );
    let i1 = fitted(
        z,
        short,
        [6.923505245297639e-07, 5.4241118242649814e-05, 0.0026041710406418, 0.06249999946056936, 0.5000000000105645],
        [
            1.5226714033393098e-13,
            3.363591415282547e-11,
            5.651406214724602e-09,
            6.781684014451918e-07,
            5.4253472222559115e-05,
            0.002604166666666625,
            0.0625,
            0.5,
        ],
    );
    let pole = one::<V>() / x.abs();
    let tiny = z.eq(V::splat(0.0)) & x.ge(V::splat(0.0));
    V::select(tiny, pole, log_to(x, short).mul_add(i1, series).mul_add(x, pole))
}

/// `K_0(x) e^x` above 1.
#[inline(always)]
fn k0_far<V: Float>(x: V, short: bool) -> V {
    let u = one::<V>() / x;
    let p = fitted(
        u,
        short,
        [0.0724028544512044, 1.8261947555748241, 6.134803812467946, 5.414246128755773, 1.2533141371098322],
        [
            0.06959538549977504,
            4.9876794190676,
            55.68642911710884,
            208.73875781285173,
            338.71579259516335,
            264.97746082456104,
            102.7418765788421,
            18.693361004197016,
            1.2533141373155001,
        ],
    );
    let q = fitted(
        u,
        short,
        [0.12991673694977698, 1.8902576205401675, 5.380173641408725, 4.444943339343105, 1.0],
        [
            0.16942522156497183,
            6.472061710374066,
            57.49781070097383,
            192.31466945456305,
            292.9681276633623,
            220.910389828501,
            83.78586258702285,
            15.040144134763123,
            1.0,
        ],
    );
    p / (q * x.sqrt())
}

/// `K_1(x) e^x` above 1.
#[inline(always)]
fn k1_far<V: Float>(x: V, short: bool) -> V {
    let u = one::<V>() / x;
    let p = fitted(
        u,
        short,
        [0.2738437664704928, 2.7844067892252813, 6.824471098692489, 5.458998717831265, 1.2533141376741086],
        [
            0.38324665190358137,
            10.850194622275216,
            80.65957393263658,
            244.20097511489794,
            355.14952502326787,
            264.42189726986265,
            100.9807578051885,
            18.44115867387172,
            1.2533141373155003,
        ],
    );
    let q = fitted(
        u,
        short,
        [0.03289283438496561, 1.0595902651176037, 4.069578571470028, 3.9806508886401315, 1.0],
        [
            0.028040376677939183,
            2.509245313950537,
            31.24173430760643,
            127.35502121717562,
            221.74987556529928,
            184.31429637599797,
            75.31108166997494,
            14.338915789198126,
            1.0,
        ],
    );
    p / (q * x.sqrt())
}

/// `near`, but `far` above 1.
#[inline(always)]
fn or_above_one<V: Float>(x: V, near: V, far: impl FnOnce() -> V) -> V {
    V::select_rarely(x.gt(one()), far, near)
}

#[inline(always)]
fn k0<V: Float>(x: V, short: bool) -> V {
    or_above_one(
        x,
        k0_near(x, short),
        #[inline(always)]
        || exp_scaled(-x, V::splat(0.0), k0_far(x, short), short),
    )
}

#[inline(always)]
fn k1<V: Float>(x: V, short: bool) -> V {
    or_above_one(
        x,
        k1_near(x, short),
        #[inline(always)]
        || exp_scaled(-x, V::splat(0.0), k1_far(x, short), short),
    )
}

#[inline(always)]
fn k0_scaled<V: Float>(x: V, short: bool) -> V {
    or_above_one(
        x,
        k0_near(x, short) * exp_to(x, short),
        #[inline(always)]
        || k0_far(x, short),
    )
}

#[inline(always)]
fn k1_scaled<V: Float>(x: V, short: bool) -> V {
    or_above_one(
        x,
        k1_near(x, short) * exp_to(x, short),
        #[inline(always)]
        || k1_far(x, short),
    )
}
