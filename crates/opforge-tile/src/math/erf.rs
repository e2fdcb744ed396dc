//! The error function.

use super::lanes::intrinsic;
use super::{exp, polynomial};
use crate::{Float, Intrinsic};

/// Between the polynomial for small arguments and the exponential for large ones (475/512).
const BORDER: f64 = 0.927734375;

/// erf for magnitudes up to the border (Juffa's minimax polynomial), of `x` and its square.
#[inline(always)]
fn near<V: Float>(x: V, square: V) -> V {
    let p = polynomial(
        square,
        [-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1],
    );
    p.mul_add(x, x)
}

/// 1 - erf for magnitudes `t` above the border: e to Juffa's minimax polynomial.
#[inline(always)]
fn complement<V: Float>(t: V) -> V {
    let p = polynomial(
        t,
        [-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1, -6.34846687e-1, -1.28717512e-1],
    );
    exp(p.mul_add(t, -t))
}

/// The error function. Error: f32 1.2, f64 that of libm. f64 is computed lane by lane.
#[inline(always)]
pub fn erf<V: Float>(x: V) -> V {
    if V::DOUBLE {
        return x.call(intrinsic!("erf", |x| libm::erf(x)));
    }
    let t = x.abs();
    let far = (V::splat(1.0) - complement(t)).copysign(x);
    let y = V::select(t.gt(V::splat(BORDER)), far, near(x, x * x));
    V::select(x.is_nan(), x, y)
}
