"""Samplers that propose and reject, and others that go on for some elements only, for all elements of a tensor at once."""

from __future__ import annotations

from functools import partial

from .. import _core as _C
from .._calls.arguments import names_arguments


def until_accepted(propose, *parameters):
    """Proposals for vectors of parameters, each drawn again until it is accepted.

    `propose(*parameters)` gives values and whether they are accepted; later rounds call it with the parameters of the rejected elements only.
    """
    values, accepted = propose(*parameters)
    rest = (~accepted).nonzero().squeeze(-1)
    while rest.numel():
        again, accepted = propose(*(p[rest] for p in parameters))
        values = values.index_copy(0, rest, again)
        rest = rest[~accepted]
    return values


def piecewise(condition, if_true, if_false, *vectors):
    """Vectors' functions, one where the condition holds and one where it does not; each is called with its own elements only."""
    result = _C.empty_like(vectors[0])
    for which, function in ((condition, if_true), (~condition, if_false)):
        chosen = which.nonzero().squeeze(-1)
        if chosen.numel():
            result = result.index_copy(0, chosen, function(*(vector[chosen] for vector in vectors)))
    return result


@names_arguments
def binomial(count, prob, generator=None):
    """How many of `count` trials succeed, each with probability `prob`: of the dtype of `count`, for tensors that broadcast. NaN for counts
    below 0 and probabilities outside of 0 to 1."""
    n, p = _C.broadcast_tensors(count.double(), prob.double())
    shape = n.shape
    n, p = n.flatten().floor(), p.flatten()
    valid = (n >= 0) & (p >= 0) & (p <= 1)
    n, p = _C.where(valid, n, 0.0), _C.where(valid, p, 0.0)
    rare = p.minimum(1 - p)
    samplers = (partial(sampler, generator=generator) for sampler in (_by_inversion, _by_transformed_rejection))
    drawn = piecewise(n * rare < 10, *samplers, n, rare)
    drawn = _C.where(p > 0.5, n - drawn, drawn)
    return _C.where(valid, drawn, float("nan")).reshape(shape).to(count.dtype)


def _by_inversion(n, p, generator):
    """Adds up the probabilities of 0, 1, 2, .. until they exceed a uniform variable; for `n p` below 10, with `p` up to 1/2, that takes some tens of
    steps."""
    rest = _C.rand(n.shape, dtype=n.dtype, device=n.device, generator=generator)
    odds = p / (1 - p)
    k, term = _C.zeros_like(n), (n * (-p).log1p()).exp()
    pending = rest >= term
    while pending.any():
        rest = rest - term
        term = term * odds * (n - k) / (k + 1)
        k = k + pending
        # Beyond n there is nothing; what rounding left over belongs to the last.
        pending = pending & (rest >= term) & (k < n)
    return k


def _by_transformed_rejection(n, p, generator):
    """Hörmann, "The generation of binomial random variates", 1993, algorithm BTRS; for `n p` of at least 10 and `p` up to 1/2."""
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    mode = ((n + 1) * p).floor()

    def propose(n, p, a, b, alpha, mode):
        u = _C.rand(n.shape, dtype=n.dtype, device=n.device, generator=generator) - 0.5
        v = _C.rand(n.shape, dtype=n.dtype, device=n.device, generator=generator)
        edge = 0.5 - u.abs()
        k = ((2 * a / edge + b) * u + n * p + 0.5).floor()
        inside = (k >= 0) & (k <= n)
        ratio = _log_choices(n, k) - _log_choices(n, mode) + (k - mode) * (p / (1 - p)).log()
        fits = (v * alpha / (a / (edge * edge) + b)).log() <= ratio
        quick = (edge >= 0.07) & (v <= 0.92 - 4.2 / b)
        return k, inside & (quick | fits)

    return until_accepted(propose, n, p, a, b, alpha, mode)


def _log_choices(n, k):
    """The logarithm of the binomial coefficient; NaN beyond it, which no comparison accepts."""
    return (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()
