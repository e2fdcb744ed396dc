//! Functions of rare use, lane by lane in f64. Errors: f32 0.5 and a little; f64 those of the functions named.

use super::{special, trigamma};
use crate::{Float, Intrinsic};

/// The intrinsic of an expression, by name.
macro_rules! intrinsic {
    ($name:expr, |$($x:ident),+| $value:expr) => {{
        #[inline]
        extern "C" fn function($($x: f64),+) -> f64 {
            $value
        }
        Intrinsic { name: $name, function }
    }};
}
pub(super) use intrinsic;

macro_rules! pair_by_pair {
    ($($(#[doc = $doc:literal])* $name:ident = |$a:ident, $b:ident| $value:expr;)*) => {
        $($(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<V: Float>(a: V, b: V) -> V {
            a.call_2(b, intrinsic!(stringify!($name), |$a, $b| $value))
        })*
    };
}

pair_by_pair! {
    /// The regularised lower incomplete gamma function P(a, b).
    gamma_p = |a, b| special::gamma_p(a, b);
    /// The regularised upper incomplete gamma function Q(a, b) = 1 - P(a, b).
    gamma_q = |a, b| special::gamma_q(a, b);
    /// The zeta function of Hurwitz, of the exponent `a` at `b`.
    zeta = |a, b| special::zeta(a, b);
}

/// The derivative of order `n` of [`digamma`](super::digamma); of order 0 that itself. The first, which its gradient asks for, is not computed lane by lane.
#[inline(always)]
pub fn polygamma<V: Float>(n: u32, x: V) -> V {
    if n == 1 {
        return trigamma(x);
    }
    let order = V::splat(f64::from(n));
    order.call_2(x, intrinsic!("polygamma", |n, x| special::derivative_of_psi(n as u32, x)))
}
