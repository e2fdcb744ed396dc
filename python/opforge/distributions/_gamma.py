"""Random numbers of the gamma distribution, differentiable with respect to its concentration.

A sample `z` is an implicit function of the concentration `a`: at a fixed probability `P(a, z)`, `dz/da = -(∂P/∂a) / p(z)` (Figurnov, Mohamed and
Mnih, "Implicit reparameterization gradients", 2018). Samples are kept as logarithms, for those of small concentrations underflow.
"""

from __future__ import annotations

import functools

from .. import _core as _C
from ..autograd.function import Function, once_differentiable
from ._rejection import piecewise, until_accepted


def _standard_gamma(concentration, generator=None):
    """Gamma variables of rate 1, of the shape and dtype of `concentration`."""
    return log_standard_gamma(concentration, generator).exp()


def _sample_dirichlet(concentration, generator=None):
    """Points of the simplex: gamma variables along the last dimension divided by their sum, by logarithms, which do not underflow."""
    return log_standard_gamma(concentration, generator).softmax(-1)


def log_standard_gamma(concentration, generator=None):
    """Logarithms of gamma variables of rate 1, of the shape and dtype of `concentration`. NaN for concentrations that are not positive."""
    return _LogGamma.apply(concentration, generator)


class _LogGamma(Function):
    """Samples in f64, whatever the dtype: a sample's digits decide about the digits of its derivative."""

    @staticmethod
    def forward(ctx, concentration, generator):
        a = concentration.detach().double()
        log_z = _sample_log(a.flatten(), generator).reshape(a.shape)
        ctx.save_for_backward(a, log_z)
        return log_z.to(concentration.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * log_derivative(*ctx.saved_tensors).to(grad.dtype), None


def _sample_log(a, generator):
    """Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. A concentration below 1 is raised by 1, and the sample
    multiplied by `U^(1 / a)`."""
    small = a < 1
    d = _C.where(small, a + 1, a) - 1 / 3
    d = _C.where(a > 0, d, float("nan"))

    def propose(d):
        x = _C.randn(d.shape, dtype=d.dtype, device=d.device, generator=generator)
        log_v = 3 * (1 + x / (9 * d).sqrt()).log()
        log_u = _C.rand(d.shape, dtype=d.dtype, device=d.device, generator=generator).log()
        # Where d is NaN or infinite no comparison is true: what was proposed is as good as any.
        return log_v, (log_u < x * x / 2 + d * (1 + log_v - log_v.exp())) | ~d.isfinite()

    log_z = d.log() + until_accepted(propose, d)
    if not small.any():
        return log_z
    # The logarithm of a uniform variable is exponential.
    return _C.where(small, log_z - _C.empty_like(a).exponential_(generator=generator) / a, log_z)


def log_derivative(a, log_z):
    """`d log z / da` of gamma samples; f64, broadcast.

    With `u = log(t / z)`, both tails of `∂P/∂a = ∫ p(t) (log t - ψ(a)) dt` become, divided by `z p(z)`, `∫ exp(a u - z (exp(u) - 1))
    (log z - ψ(a) + u) du`, whose sign differs, since over all of `u` it is 0. The tail away from `ψ(a)` has an integrand of one sign: no digit is
    lost at any concentration. It is integrated by Gauss-Legendre quadrature up to where it is below `exp(-36)`; for `z < 1` by its power series.
    """
    a, log_z = _C.broadcast_tensors(a, log_z)
    flat, log_flat = a.flatten(), log_z.flatten()
    return piecewise(log_flat < 0, _series, _tail, flat, log_flat).reshape(a.shape)


def _series(a, log_z):
    """`-exp(z) Σ (-z)^k / k! ((log z - ψ(a)) / (a + k) - 1 / (a + k)²)`, integrated term by term; exact in f64 for z up to 1."""
    z, from_mean = log_z.exp(), log_z - a.digamma()
    total, factor = _C.zeros_like(z), _C.ones_like(z)
    for k in range(18):
        total = total + factor * (from_mean - 1 / (a + k)) / (a + k)
        factor = factor * (-z) / (k + 1)
    return -z.exp() * total


def _tail(a, log_z):
    """The integral. 24 nodes and 8 steps leave a relative error of 1e-9 at most, whatever the concentration."""
    z, from_mean = log_z.exp(), log_z - a.digamma()
    side = _C.where(from_mean < 0, -1.0, 1.0)

    def exponent(s):
        return a * side * s - z * (side * s).expm1()

    end = _tail_length(a, z, side)
    total = _C.zeros_like(z)
    for node, weight in _legendre(24):
        s = end * node
        total = total + weight * exponent(s).exp() * (from_mean.abs() + s)
    return total * end


def _tail_length(a, z, side, depth=36.0):
    """Where the exponent has fallen to `-depth`. It is concave, so Newton's method comes down to it from any greater length."""
    broad, narrow = (depth + z) / a, (3 * depth / z).sqrt()
    s = _C.where(side < 0, _C.where(narrow < 1, narrow, broad), (4 * depth / z).sqrt() + 1 / z)
    for _ in range(8):
        grown = (side * s).exp()
        excess = z * (grown - 1) - a * side * s - depth
        s = s - excess / (side * (z * grown - a))
    return s


@functools.cache
def _legendre(n):
    """Nodes and weights of Gauss-Legendre quadrature on 0 to 1: the eigenvalues, and the first elements of the eigenvectors, of the recurrence's
    matrix (Golub and Welsch, "Calculation of Gauss quadrature rules", 1969)."""
    k = _C.arange(1, n, dtype=_C.float64)
    beside = k / (4 * k * k - 1).sqrt()
    nodes, vectors = _C.linalg.eigh(beside.diag(1) + beside.diag(-1))
    return list(zip((nodes / 2 + 0.5).tolist(), vectors[0].square().tolist()))
