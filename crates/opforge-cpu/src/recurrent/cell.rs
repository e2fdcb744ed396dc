//! The mathematics of recurrent cells, forwards and backwards, on vectors of hidden units.
//!
//! Sources: Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997), with the forget gate of Gers et al. (2000); Cho et al., "Learning
//! Phrase Representations using RNN Encoder-Decoder" (2014), with the reset after the product.

use opforge_tile::forms::CellKind;

use crate::math::{sigmoid, tanh};
use crate::simd::Float;

/// How a cell's state follows from gates. Gates are blocks of `hidden` numbers, [`Cell::GATES`] of them from the input and as many from the
/// state before.
pub(super) trait Cell: Copy + Send + Sync + 'static {
    /// The blocks of gates.
    const GATES: usize;
    /// The blocks of what backward needs to know of a step.
    const SAVED: usize;
    /// Whether there is a cell state besides the hidden one.
    const HAS_CELL: bool;

    /// The new hidden and cell state, and what backward needs, from the input's and the state's gates and the state before.
    fn forward<V: Float>(&self, x: &[V], h: &[V], before: [V; 2], saved: &mut [V]) -> [V; 2];

    /// The gradients of the gates, of the input's and of the state's, and of the state before but for what comes through the gates; from those
    /// of the new state.
    fn backward<V: Float>(
        &self,
        saved: &[V],
        before: [V; 2],
        now: [V; 2],
        grad: [V; 2],
        dx: &mut [V],
        dh: &mut [V],
    ) -> [V; 2];
}

/// Long short-term memory: input, forget, cell and output gate.
#[derive(Clone, Copy)]
pub(super) struct Lstm;

/// Gated recurrent unit: reset, update and new gate.
#[derive(Clone, Copy)]
pub(super) struct Gru;

/// The plain cell, with the hyperbolic tangent or the positive part.
#[derive(Clone, Copy)]
pub(super) struct Plain {
    pub relu: bool,
}

impl Cell for Lstm {
    const GATES: usize = CellKind::Lstm.gates();
    const SAVED: usize = CellKind::Lstm.saved();
    const HAS_CELL: bool = true;

    #[inline(always)]
    fn forward<V: Float>(&self, x: &[V], h: &[V], [_, c]: [V; 2], saved: &mut [V]) -> [V; 2] {
        let (i, f) = (sigmoid(x[0] + h[0]), sigmoid(x[1] + h[1]));
        let (g, o) = (tanh(x[2] + h[2]), sigmoid(x[3] + h[3]));
        (saved[0], saved[1], saved[2], saved[3]) = (i, f, g, o);
        let c = f * c + i * g;
        [o * tanh(c), c]
    }

    #[inline(always)]
    fn backward<V: Float>(
        &self,
        saved: &[V],
        before: [V; 2],
        now: [V; 2],
        grad: [V; 2],
        dx: &mut [V],
        dh: &mut [V],
    ) -> [V; 2] {
        let one = V::splat(1.0);
        let (i, f, g, o) = (saved[0], saved[1], saved[2], saved[3]);
        let t = tanh(now[1]);
        let dc = grad[1] + grad[0] * o * (one - t * t);
        dx[0] = dc * g * i * (one - i);
        dx[1] = dc * before[1] * f * (one - f);
        dx[2] = dc * i * (one - g * g);
        dx[3] = grad[0] * t * o * (one - o);
        dh[..4].copy_from_slice(&dx[..4]);
        [V::splat(0.0), dc * f]
    }
}

impl Cell for Gru {
    const GATES: usize = CellKind::Gru.gates();
    const SAVED: usize = CellKind::Gru.saved();
    const HAS_CELL: bool = false;

    #[inline(always)]
    fn forward<V: Float>(&self, x: &[V], h: &[V], [before, _]: [V; 2], saved: &mut [V]) -> [V; 2] {
        let (r, z) = (sigmoid(x[0] + h[0]), sigmoid(x[1] + h[1]));
        let n = tanh(x[2] + r * h[2]);
        (saved[0], saved[1], saved[2], saved[3]) = (r, z, n, h[2]);
        [n + z * (before - n), V::splat(0.0)]
    }

    #[inline(always)]
    fn backward<V: Float>(
        &self,
        saved: &[V],
        before: [V; 2],
        _: [V; 2],
        grad: [V; 2],
        dx: &mut [V],
        dh: &mut [V],
    ) -> [V; 2] {
        let one = V::splat(1.0);
        let (r, z, n, hn) = (saved[0], saved[1], saved[2], saved[3]);
        let dn = grad[0] * (one - z) * (one - n * n);
        dx[0] = dn * hn * r * (one - r);
        dx[1] = grad[0] * (before[0] - n) * z * (one - z);
        dx[2] = dn;
        (dh[0], dh[1], dh[2]) = (dx[0], dx[1], dn * r);
        [grad[0] * z, V::splat(0.0)]
    }
}

impl Cell for Plain {
    const GATES: usize = CellKind::Tanh.gates();
    const SAVED: usize = CellKind::Tanh.saved();
    const HAS_CELL: bool = false;

    #[inline(always)]
    fn forward<V: Float>(&self, x: &[V], h: &[V], _: [V; 2], saved: &mut [V]) -> [V; 2] {
        let sum = x[0] + h[0];
        let h = if self.relu { V::select(sum.lt(V::splat(0.0)), V::splat(0.0), sum) } else { tanh(sum) };
        saved[0] = h;
        [h, V::splat(0.0)]
    }

    #[inline(always)]
    fn backward<V: Float>(
        &self,
        saved: &[V],
        _: [V; 2],
        _: [V; 2],
        grad: [V; 2],
        dx: &mut [V],
        dh: &mut [V],
    ) -> [V; 2] {
        let h = saved[0];
        dx[0] = match self.relu {
            true => V::select(V::splat(0.0).lt(h), grad[0], V::splat(0.0)),
            false => grad[0] * (V::splat(1.0) - h * h),
        };
        dh[0] = dx[0];
        [V::splat(0.0), V::splat(0.0)]
    }
}
