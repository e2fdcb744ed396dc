//! Sine, cosine and tangent.

use super::lanes::intrinsic;
use super::{pick, polynomial};
use crate::{Bits, Float, Intrinsic, Of1};

/// sin for quadrant 0, cos for quadrant 1: the angle plus so many quarter turns. Arguments too large for [`reduced`] are reduced exactly, by
/// the standard library.
#[inline(always)]
fn sin_cos<V: Float>(x: V, quadrant: i64) -> V {
    let near = if V::DOUBLE || V::fused() {
        reduced(x, quadrant)
    } else {
        x.via_f64(
            #[inline(always)]
            |x| reduced(x, quadrant),
        )
    };
    let exactly: Intrinsic<Of1> =
        if quadrant == 0 { intrinsic!("sin", |x| x.sin()) } else { intrinsic!("cos", |x| x.cos()) };
    V::select_rarely(
        x.abs().gt(pick(1e5, 1e6)),
        #[inline(always)]
        || x.call(exactly),
        near,
    )
}

/// For `|x|` up to 1e5 (f32), 1e6 (f64).
///
/// pi / 2 is subtracted in three parts. f32: 24 bits each, whose products are exact in a fused multiply-add. f64: 33, 33 and 53 bits, whose first
/// two products are exact.
#[inline(always)]
fn reduced<V: Float>(x: V, quadrant: i64) -> V {
    let magic = pick::<V>(12582912.0, 6755399441055744.0);
    let shifted = x.mul_add(V::splat(std::f64::consts::FRAC_2_PI), magic);
    let n = shifted - magic;
    let r = n.mul_add(pick(-1.57079637050628662109375, -1.57079632673412561417e+00), x);
    let r = n.mul_add(pick(4.37113900018624283e-8, -6.07710050630396597660e-11), r);
    let r = n.mul_add(pick(1.71512451000588e-15, -2.02226624879595063154e-21), r);
    let square = r * r;
    let turns = (shifted.to_bits() - magic.to_bits()) + V::Bits::splat(quadrant);
    let use_cos = !(turns & V::Bits::splat(1)).eq(V::Bits::splat(0));
    let y = V::select(use_cos, cos_polynomial(square), sin_polynomial(r, square));
    let sign_bit = if V::DOUBLE { 62 } else { 30 };
    let sign = (turns & V::Bits::splat(2)) << sign_bit;
    let y = V::from_bits(y.to_bits() ^ sign);
    // -0 must stay.
    if quadrant == 0 { V::select(x.eq(V::splat(0.0)), x, y) } else { y }
}

/// For `|r| <= pi / 4`; the polynomials of Cephes (f32) and fdlibm (f64).
#[inline(always)]
fn sin_polynomial<V: Float>(r: V, square: V) -> V {
    let p = if V::DOUBLE {
        polynomial(
            square,
            [
                1.58969099521155010221e-10,
                -2.50507602534068634195e-08,
                2.75573137070700676789e-06,
                -1.98412698298579493134e-04,
                8.33333333332248946124e-03,
                -1.66666666666666324348e-01,
            ],
        )
    } else {
        polynomial(square, [-1.9515295891E-4, 8.3321608736E-3, -1.6666654611E-1])
    };
    (p * square).mul_add(r, r)
}

#[inline(always)]
fn cos_polynomial<V: Float>(square: V) -> V {
    let p = if V::DOUBLE {
        polynomial(
            square,
            [
                -1.13596475577881948265e-11,
                2.08757232129817482790e-09,
                -2.75573143513906633035e-07,
                2.48015872894767294178e-05,
                -1.38888888888741095749e-03,
                4.16666666666666019037e-02,
            ],
        )
    } else {
        polynomial(square, [2.443315711809948E-5, -1.388731625493765E-3, 4.166664568298827E-2])
    };
    // 1 - square/2 loses up to half a unit; `lost` brings it back.
    let half = V::splat(0.5) * square;
    let w = V::splat(1.0) - half;
    let lost = (V::splat(1.0) - w) - half;
    w + (p * square).mul_add(square, lost)
}

/// The sine of radians. Error: f32 1.54 (portable 0.5), f64 2. Beyond 1e5 (f32), 1e6 (f64) it is the standard library's, lane by lane.
#[inline(always)]
pub fn sin<V: Float>(x: V) -> V {
    sin_cos(x, 0)
}

/// The cosine of radians. Error: f32 1.54 (portable 0.5), f64 2. Beyond 1e5 (f32), 1e6 (f64) it is the standard library's, lane by lane.
#[inline(always)]
pub fn cos<V: Float>(x: V) -> V {
    sin_cos(x, 1)
}

/// The tangent of radians. Error: f32 4, f64 4.
#[inline(always)]
pub fn tan<V: Float>(x: V) -> V {
    sin(x) / cos(x)
}
