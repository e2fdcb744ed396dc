"""Divergences between distributions of different families: `-H(p) - E_p[log q]`.

What is needed of `p` are a few expectations, of `x`, `x²`, `log x`, `log(1 - x)` and `exp(t x)`; each family `q` is one formula of these. Where `p`
reaches beyond the support of `q`, the divergence is infinite.
"""

from __future__ import annotations

import math

from ... import _core as _C
from ..bernoulli import Bernoulli
from ..beta import Beta, log_beta
from ..binomial import Binomial
from ..continuous_bernoulli import ContinuousBernoulli
from ..exponential import Exponential
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..laplace import Laplace
from ..normal import Normal
from ..pareto import Pareto
from ..poisson import Poisson
from ..uniform import Uniform
from ..utils import broadcast_all, euler_constant
from .registry import register_kl

_UNIT = (Beta, ContinuousBernoulli)
_POSITIVE = (Exponential, Gamma)
_REAL = (Gumbel, Laplace, Normal)


def _register(kinds_p, kind_q, mean_log):
    """Registers `-H(p) - mean_log(p, q)` for these families `p`."""
    for kind_p in kinds_p:

        @register_kl(kind_p, kind_q)
        def _divergence(p, q):
            return -p.entropy() - mean_log(p, q)


def _infinite(p, q):
    """The divergence where `p` always reaches beyond the support of `q`."""
    like, _ = broadcast_all(p.mean, q.mean)
    return _C.full_like(like, math.inf)


def _register_infinite(kinds_p, kinds_q):
    for kind_p in kinds_p:
        for kind_q in kinds_q:
            register_kl(kind_p, kind_q)(_infinite)


# Expectations.


def _mean_of_log(p):
    """`E[log x]`."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    low, high = p.low, p.high  # of a Uniform
    return (_C.xlogy(high, high) - _C.xlogy(low, low)) / (high - low) - 1


def _mean_of_exp(p, t):
    """`E[exp(t x)]` of a negative `t`; of a normal variable, any."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate - t)
    if isinstance(p, Gamma):
        return (p.rate / (p.rate - t)) ** p.concentration
    if isinstance(p, Normal):
        return (t * p.loc + (t * p.scale) ** 2 / 2).exp()
    return ((t * p.high).exp() - (t * p.low).exp()) / (t * (p.high - p.low))  # of a Uniform


# Mean logarithms of densities.


def _of_normal(p, q):
    spread = (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2)
    return -spread - q.scale.log() - 0.5 * math.log(2 * math.pi)


def _of_exponential(p, q):
    return q.rate.log() - q.rate * p.mean


def _of_gamma(p, q):
    a = q.concentration
    return a * q.rate.log() - a.lgamma() + (a - 1) * _mean_of_log(p) - q.rate * p.mean


def _of_gumbel(p, q):
    z = (p.mean - q.loc) / q.scale
    return -q.scale.log() - z - (q.loc / q.scale).exp() * _mean_of_exp(p, -1 / q.scale)


def _of_laplace(p, q):
    """`E|x - loc|` of a normal variable is that of the folded normal distribution."""
    z = (p.loc - q.loc) / p.scale
    distance = p.scale * math.sqrt(2 / math.pi) * (-(z**2) / 2).exp() + (p.loc - q.loc) * _C.erf(z / math.sqrt(2))
    return -distance / q.scale - (2 * q.scale).log()


def _of_continuous_bernoulli(p, q):
    return q._cont_bern_log_norm() + _C.nn.logsigmoid(-q.logits) + p.mean * q.logits


def _of_uniform(p, q):
    within = (q.low <= 0) & (q.high >= 1)
    return _C.where(within, -(q.high - q.low).log(), -math.inf)


_register((*_UNIT, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), Normal, _of_normal)
_register((*_UNIT, Gamma, Pareto), Exponential, _of_exponential)
_register((Beta, Exponential, Pareto), Gamma, _of_gamma)
_register((*_POSITIVE, Normal), Gumbel, _of_gumbel)
_register((Normal,), Laplace, _of_laplace)
_register((Beta,), ContinuousBernoulli, _of_continuous_bernoulli)
_register(_UNIT, Uniform, _of_uniform)


# Of uniform variables, whose interval lies within a support or does not.


def _uniform_within(p, low, high, divergence):
    return _C.where((p.low >= low) & (p.high <= high), divergence, math.inf)


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    log_x = _mean_of_log(p)
    # 1 - x is uniform too.
    log_rest = _mean_of_log(Uniform(1 - p.high, 1 - p.low, validate_args=False))
    a, b = q.concentration1, q.concentration0
    return _uniform_within(p, 0, 1, -p.entropy() + log_beta(a, b) - (a - 1) * log_x - (b - 1) * log_rest)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p, q):
    return _uniform_within(p, 0, 1, -p.entropy() - _of_continuous_bernoulli(p, q))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    return _uniform_within(p, 0, math.inf, -p.entropy() - _of_exponential(p, q))


@register_kl(Uniform, Gamma)
def _uniform_gamma(p, q):
    return _uniform_within(p, 0, math.inf, -p.entropy() - _of_gamma(p, q))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    return -p.entropy() - _of_gumbel(p, q)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    mean_log = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_of_log(p)
    return _uniform_within(p, q.scale, math.inf, -p.entropy() - mean_log)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


_register_infinite(_UNIT, (Pareto,))
_register_infinite(_POSITIVE, (Beta, ContinuousBernoulli, Pareto, Uniform))
_register_infinite(_REAL, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform))
_register_infinite((Pareto,), (Beta, ContinuousBernoulli, Uniform))
_register_infinite((Poisson,), (Bernoulli, Binomial))
