//! The norms of each order, and their gradients, as functions of vectors.

use opforge_tile::{Float, math};

/// Which norm it is.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Count,
    Manhattan,
    Euclidean,
    Chebyshev,
    Minkowski(f64),
}

impl Order {
    /// That of an order of 0 or more.
    pub fn of(order: f64) -> Self {
        match order {
            0.0 => Order::Count,
            1.0 => Order::Manhattan,
            2.0 => Order::Euclidean,
            f64::INFINITY => Order::Chebyshev,
            p => Order::Minkowski(p),
        }
    }

    /// The work of so many differences, in elements of a plain loop: these come from a cache, those from memory.
    pub fn work(self, differences: usize) -> usize {
        match self {
            Order::Minkowski(_) => differences.saturating_mul(4),
            _ => differences / 4,
        }
    }
}

/// Evaluates an expression with `$norm` as the [`Norm`] of an order, and with constants for how many rows of how many vectors are computed side by side: a power
/// has no need of others beside it, and its code is long.
macro_rules! by_order {
    ($order:expr, ($norm:ident, $rows:ident, $vectors:ident) => $value:expr) => {
        by_order!(@match $order, $norm, $rows, $vectors, $value,
            Count => Count, 4, 2;
            Manhattan => Manhattan, 4, 2;
            Euclidean => Euclidean, 4, 2;
            Chebyshev => Chebyshev, 4, 2;
            Minkowski(p) => Minkowski::of(p), 1, 1;
        )
    };
    (@match $order:expr, $norm:ident, $rows:ident, $vectors:ident, $value:expr,
        $($name:ident $(($p:ident))? => $made:expr, $r:literal, $v:literal;)*) => {
        match $order {
            $(Order::$name $(($p))? => {
                use crate::distance::norm::*;
                const $rows: usize = $r;
                const $vectors: usize = $v;
                let $norm = $made;
                $value
            })*
        }
    };
}
pub(super) use by_order;

/// A norm of differences. Every method is `#[inline(always)]`.
pub(super) trait Norm: Copy {
    /// Whether magnitudes are compared in gradients, or divided: whether [`Norm::share`] reads the second weight.
    const COMPARES: bool = false;
    /// Adds a difference to a sum that begins with 0.
    fn add<V: Float>(self, sum: V, difference: V) -> V;
    /// The sum of two sums.
    #[inline(always)]
    fn join<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    /// The norm, from the sum over all differences.
    #[inline(always)]
    fn finish<V: Float>(self, sum: V) -> V {
        sum
    }
    /// What all differences of a norm with a gradient have in common: a factor of theirs, and what magnitudes are compared with.
    fn weigh<V: Float>(self, gradient: V, norm: V) -> [V; 2];
    /// Adds a difference's gradient to a sum.
    fn share<V: Float>(self, sum: V, difference: V, weight: [V; 2]) -> V;
}

/// Of order 0: how many differences are not 0.
#[derive(Clone, Copy)]
pub(super) struct Count;

/// Of order 1.
#[derive(Clone, Copy)]
pub(super) struct Manhattan;

/// Of order 2.
#[derive(Clone, Copy)]
pub(super) struct Euclidean;

/// Of order infinity.
#[derive(Clone, Copy)]
pub(super) struct Chebyshev;

/// Of any other order.
#[derive(Clone, Copy)]
pub(super) struct Minkowski {
    p: f64,
    /// The order, if it is a small whole number.
    whole: Option<u32>,
}

impl Minkowski {
    pub fn of(p: f64) -> Self {
        // A product of so many factors may be off by half as many units in the last place, of which the root leaves a half.
        const MOST: f64 = 16.0;
        Minkowski { p, whole: (p <= MOST && p.fract() == 0.0).then_some(p as u32) }
    }
}

#[inline(always)]
fn zero<V: Float>() -> V {
    V::splat(0.0)
}

/// -1, 0 or 1; NaN of NaN.
#[inline(always)]
fn sign<V: Float>(x: V) -> V {
    V::select(x.gt(zero()), V::splat(1.0), V::select(x.lt(zero()), V::splat(-1.0), x))
}

impl Norm for Count {
    #[inline(always)]
    fn add<V: Float>(self, sum: V, difference: V) -> V {
        let magnitude = difference.abs();
        sum + V::select(magnitude.gt(zero()), V::splat(1.0), magnitude)
    }
    #[inline(always)]
    fn weigh<V: Float>(self, _: V, _: V) -> [V; 2] {
        [zero(); 2]
    }
    #[inline(always)]
    fn share<V: Float>(self, sum: V, _: V, _: [V; 2]) -> V {
        sum
    }
}

impl Norm for Manhattan {
    #[inline(always)]
    fn add<V: Float>(self, sum: V, difference: V) -> V {
        sum + difference.abs()
    }
    #[inline(always)]
    fn weigh<V: Float>(self, gradient: V, _: V) -> [V; 2] {
        [gradient, zero()]
    }
    #[inline(always)]
    fn share<V: Float>(self, sum: V, difference: V, [weight, _]: [V; 2]) -> V {
        weight.mul_add(sign(difference), sum)
    }
}

impl Norm for Euclidean {
    #[inline(always)]
    fn add<V: Float>(self, sum: V, difference: V) -> V {
        difference.mul_add(difference, sum)
    }
    #[inline(always)]
    fn finish<V: Float>(self, sum: V) -> V {
        sum.sqrt()
    }
    #[inline(always)]
    fn weigh<V: Float>(self, gradient: V, norm: V) -> [V; 2] {
        [V::select(norm.eq(zero()), zero(), gradient / norm), zero()]
    }
    #[inline(always)]
    fn share<V: Float>(self, sum: V, difference: V, [weight, _]: [V; 2]) -> V {
        weight.mul_add(difference, sum)
    }
}

impl Norm for Chebyshev {
    const COMPARES: bool = true;

    #[inline(always)]
    fn add<V: Float>(self, sum: V, difference: V) -> V {
        sum.max(difference.abs())
    }
    #[inline(always)]
    fn join<V: Float>(self, a: V, b: V) -> V {
        a.max(b)
    }
    #[inline(always)]
    fn weigh<V: Float>(self, gradient: V, norm: V) -> [V; 2] {
        [V::select(norm.is_nan(), norm, gradient), norm]
    }
    #[inline(always)]
    fn share<V: Float>(self, sum: V, difference: V, [weight, norm]: [V; 2]) -> V {
        V::select(difference.abs().lt(norm), sum, weight.mul_add(sign(difference), sum))
    }
}

/// A product of equal factors, one or more.
#[inline(always)]
fn product<V: Float>(factor: V, mut count: u32) -> V {
    let (mut product, mut square) = (V::splat(1.0), factor);
    while count > 0 {
        if count & 1 == 1 {
            product = product * square;
        }
        square = square * square;
        count >>= 1;
    }
    product
}

/// A power of a magnitude: 0 of 0, also of exponents below it and of those so small that they are 0 as an f32.
#[inline(always)]
fn power<V: Float>(magnitude: V, exponent: f64) -> V {
    V::select(magnitude.eq(zero()), magnitude, math::power(magnitude, V::splat(exponent)))
}

impl Norm for Minkowski {
    const COMPARES: bool = true;

    #[inline(always)]
    fn add<V: Float>(self, sum: V, difference: V) -> V {
        let magnitude = difference.abs();
        sum + match self.whole {
            Some(count) => product(magnitude, count),
            None => power(magnitude, self.p),
        }
    }
    #[inline(always)]
    fn finish<V: Float>(self, sum: V) -> V {
        math::pow(sum, V::splat(1.0 / self.p))
    }
    #[inline(always)]
    fn weigh<V: Float>(self, gradient: V, norm: V) -> [V; 2] {
        let none = norm.eq(zero());
        [V::select(none, zero(), gradient), V::select(none, V::splat(1.0), V::splat(1.0) / norm)]
    }
    #[inline(always)]
    fn share<V: Float>(self, sum: V, difference: V, [weight, inverse]: [V; 2]) -> V {
        // At most 1, so that its power does not overflow where the norm's would.
        let ratio = difference.abs() * inverse;
        let power = match self.whole {
            Some(count) => product(ratio, count - 1),
            None => power(ratio, self.p - 1.0),
        };
        weight.mul_add(V::select(difference.lt(zero()), -power, power), sum)
    }
}
