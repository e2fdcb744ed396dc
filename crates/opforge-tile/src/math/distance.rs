//! The distance of a point from the origin.

use crate::Float;

/// The distance of the point `(a, b)` from the origin. Error: f32 0.51, f64 0.6 (portable 1.1).
#[inline(always)]
pub fn hypot<V: Float>(a: V, b: V) -> V {
    let infinity = V::splat(f64::INFINITY);
    let infinite = a.abs().eq(infinity) | b.abs().eq(infinity);
    let distance = if V::DOUBLE {
        of_doubles(a.abs(), b.abs())
    } else {
        a.via_f64_2(
            b,
            #[inline(always)]
            |a, b| a.mul_add(a, b * b).sqrt(),
        )
    };
    V::select(infinite, infinity, distance)
}

/// Scaled where the squares would overflow or lose digits.
#[inline(always)]
fn of_doubles<V: Float>(a: V, b: V) -> V {
    let (large, small) = (a.max(b), a.min(b));
    let ordinary = large.lt(V::splat(1e150)) & large.gt(V::splat(1e-130));
    V::select_rarely(
        !ordinary,
        #[inline(always)]
        || {
            // 2^600 and its inverse.
            let (up, down) = (V::splat(4.149515568880993e180), V::splat(2.409919865102884e-181));
            let huge = large.gt(V::splat(1.0));
            let (scale, back) = (V::select(huge, down, up), V::select(huge, up, down));
            let distance = root_of_squares(large * scale, small * scale) * back;
            V::select(large.eq(V::splat(0.0)), large, distance)
        },
        root_of_squares(large, small),
    )
}

/// `sqrt(a^2 + b^2)` for `a >= b >= 0`, corrected by what the squares lose: Borges, "An improved algorithm for hypot(a, b)" (2019).
#[inline(always)]
fn root_of_squares<V: Float>(a: V, b: V) -> V {
    let root = a.mul_add(a, b * b).sqrt();
    if !V::fused() {
        return root;
    }
    let (square, of_a) = (root * root, a * a);
    let excess = (-b).mul_add(b, square - of_a) + (root.mul_add(root, -square) - a.mul_add(a, -of_a));
    root - excess / (root + root)
}
