//! Which elements along a dimension a place is made of, how much of each, and how that changes with the place.

use opforge_tile::Float;
use opforge_tile::forms::{Between, Outside, Sampling};

/// The longest dimension: places up to here are exact as floats, and as integers made of them.
pub(super) const MOST: usize = 1 << 22;
/// The most elements that a place is made of along a dimension.
pub(super) const TAPS: usize = 4;

/// A dimension of an image.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub len: usize,
    /// None of a dimension that is not there.
    pub sampling: Option<Sampling>,
}

/// An element, -1 beyond the image; its share of the sample, and the share's derivative by the grid's number.
pub(super) struct Tap<V: Float> {
    pub place: V::Bits,
    pub share: V,
    pub slope: V,
}

impl Line {
    /// How many elements a place is made of.
    pub fn taps(&self) -> usize {
        match self.sampling.map(|sampling| sampling.between) {
            None | Some(Between::Nearest) => 1,
            Some(Between::Linear) => 2,
            Some(Between::Cubic) => TAPS,
        }
    }

    /// The elements that the grid's number `x` is made of, [`Line::taps`] of them. `f` must be `#[inline(always)]`.
    #[inline(always)]
    pub fn each_tap<V: Float>(&self, x: V, mut f: impl FnMut(usize, Tap<V>)) {
        let Some(sampling) = self.sampling else { return };
        // From -1 to 1 there are so many elements.
        let span = if sampling.corners { self.len - 1 } else { self.len } as f64;
        let scale = V::splat(0.5 * span);
        let at = x.mul_add(scale, V::splat(0.5 * (self.len as f64 - 1.0)));
        let one = V::splat(1.0);
        match sampling.between {
            Between::Nearest => {
                let (at, _) = self.inside(sampling, at);
                f(0, Tap { place: self.place(at.round_ties_even()), share: one, slope: V::splat(0.0) });
            }
            Between::Linear => {
                let (at, slope) = self.inside(sampling, at);
                let (low, slope) = (at.floor(), slope * scale);
                f(0, Tap { place: self.place(low), share: one - (at - low), slope: -slope });
                f(1, Tap { place: self.place(low + one), share: at - low, slope });
            }
            Between::Cubic => {
                let low = at.floor();
                let t = at - low;
                let shares = [outer(t + one), inner(t), inner(one - t), outer(one + one - t)];
                for (k, (share, slope)) in shares.into_iter().enumerate() {
                    let (place, _) = self.inside(sampling, low + V::splat(k as f64 - 1.0));
                    // The last two get nearer as the place moves on.
                    let slope = if k < 2 { slope * scale } else { -(slope * scale) };
                    f(k, Tap { place: self.place(place), share, slope });
                }
            }
        }
    }

    /// The element at a whole place; NaN lies beyond the image.
    #[inline(always)]
    fn place<V: Float>(&self, at: V) -> V::Bits {
        let is_inside = V::splat(0.0).le(at) & at.le(V::splat(self.len as f64 - 1.0));
        V::select(is_inside, at, V::splat(-1.0)).to_int()
    }

    /// A place brought inside, unless zeros lie outside, and the derivative of that.
    #[inline(always)]
    fn inside<V: Float>(&self, sampling: Sampling, at: V) -> (V, V) {
        match sampling.outside {
            Outside::Zeros => (at, V::splat(1.0)),
            Outside::Border => self.clipped(at),
            Outside::Reflection => {
                let (at, turn) = self.reflected(sampling.corners, at);
                let (at, slope) = self.clipped(at);
                (at, slope * turn)
            }
        }
    }

    /// What is on or beyond an edge has no slope; NaN lies at the start.
    #[inline(always)]
    fn clipped<V: Float>(&self, at: V) -> (V, V) {
        let (zero, end) = (V::splat(0.0), V::splat(self.len as f64 - 1.0));
        let (is_after, is_before) = (at.gt(zero), at.lt(end));
        let clipped = V::select(is_after, V::select(is_before, at, end), zero);
        (clipped, V::select(is_after & is_before, V::splat(1.0), zero))
    }

    /// Between mirrors, in the corners' centres or on the outer edges: a zigzag.
    #[inline(always)]
    fn reflected<V: Float>(&self, corners: bool, at: V) -> (V, V) {
        let (low, span) = if corners { (0.0, self.len as f64 - 1.0) } else { (-0.5, self.len as f64) };
        if span == 0.0 {
            return (V::splat(0.0), V::splat(0.0));
        }
        let (zero, one, period) = (V::splat(0.0), V::splat(1.0), V::splat(2.0 * span));
        let way = at - V::splat(low);
        let rest = (-(way.abs() / period).floor()).mul_add(period, way.abs()) - V::splat(span);
        let forth = V::select(way.lt(zero), -one, one);
        (V::splat(span + low) - rest.abs(), V::select(rest.lt(zero), forth, -forth))
    }
}

/// The parameter of the cubic filter. Source: Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981).
const A: f64 = -0.75;

/// The filter and its derivative at a distance of 0 to 1.
#[inline(always)]
fn inner<V: Float>(x: V) -> (V, V) {
    let (a, b) = (V::splat(A + 2.0), V::splat(A + 3.0));
    ((a * x - b) * x * x + V::splat(1.0), (V::splat(3.0) * a * x - (b + b)) * x)
}

/// The filter and its derivative at a distance of 1 to 2.
#[inline(always)]
fn outer<V: Float>(x: V) -> (V, V) {
    let (a, b) = (V::splat(A), V::splat(5.0 * A));
    let (c, d) = (V::splat(8.0 * A), V::splat(4.0 * A));
    (((a * x - b) * x + c) * x - d, (V::splat(3.0) * a * x - (b + b)) * x + c)
}
