"""Divergences between two distributions of the same family."""

from __future__ import annotations

import math

from ... import _core as _C
from ..bernoulli import Bernoulli
from ..beta import Beta, log_beta
from ..binomial import Binomial
from ..categorical import Categorical
from ..cauchy import Cauchy
from ..continuous_bernoulli import ContinuousBernoulli
from ..dirichlet import Dirichlet, log_multivariate_beta
from ..exp_family import ExponentialFamily
from ..exponential import Exponential
from ..gamma import Gamma
from ..geometric import Geometric
from ..gumbel import Gumbel
from ..half_normal import HalfNormal
from ..independent import Independent
from ..laplace import Laplace
from ..normal import Normal
from ..one_hot_categorical import OneHotCategorical
from ..pareto import Pareto
from ..poisson import Poisson
from ..transformed_distribution import TransformedDistribution
from ..uniform import Uniform
from ..utils import _sum_rightmost, euler_constant
from .registry import kl_divergence, register_kl

_logsigmoid = _C.nn.logsigmoid


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """`F(θq) - F(θp) - (θq - θp) · ∇F(θp)`, the Bregman divergence of the log-normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError(f"the divergence of {type(p).__name__} and {type(q).__name__}, of different exponential families, is not known")
    parameters, normalizer, means = p._normalizer_and_means()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for own, other, mean in zip(parameters, others, means):
        result = result - _sum_rightmost((other - own) * mean, mean.dim() - len(p.batch_shape))
    return result


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    return _relative(p.probs, q.probs, q.logits) + _relative(1 - p.probs, 1 - q.probs, -q.logits)


def _relative(p, q, logit_q):
    """`p log(p / q)`, infinite where `q` alone is 0."""
    term = _C.xlogy(p, p) - p * _logsigmoid(logit_q)
    return _C.where(p == 0, 0.0, _C.where(q == 0, math.inf, term))


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("the divergence from a binomial distribution of more trials is not known")
    result = p.total_count * _bernoulli(p, q)
    # More trials than the other has are impossible there.
    return _C.where(p.total_count > q.total_count, math.inf, result)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = _C.where((q.probs == 0).expand(terms.shape), math.inf, terms)
    return _C.where((p.probs == 0).expand(terms.shape), 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return _C.xlogy(p.rate, p.rate) - _C.xlogy(p.rate, q.rate) - p.rate + q.rate


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    distance = (p.loc - q.loc).abs()
    return (q.scale / p.scale).log() - 1 + (p.scale * (-distance / p.scale).exp() + distance) / q.scale


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    """Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019."""
    distance = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return distance.log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio = p.scale / q.scale
    shift = (q.loc - p.loc) / q.scale
    return -ratio.log() - shift + euler_constant * (ratio - 1) + (shift + (1 + ratio).lgamma()).exp() - 1


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    ratio = q.rate / p.rate
    return (a - b) * a.digamma() - a.lgamma() + b.lgamma() - b * ratio.log() + a * (ratio - 1)


@register_kl(Beta, Beta)
def _beta(p, q):
    more1, more0 = p.concentration1 - q.concentration1, p.concentration0 - q.concentration0
    change = log_beta(q.concentration1, q.concentration0) - log_beta(p.concentration1, p.concentration0)
    mean_logs = more1 * p.concentration1.digamma() + more0 * p.concentration0.digamma()
    return change + mean_logs - (more1 + more0) * (p.concentration1 + p.concentration0).digamma()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    mean_logs = a.digamma() - a.sum(-1, keepdim=True).digamma()
    return log_multivariate_beta(b) - log_multivariate_beta(a) + ((a - b) * mean_logs).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    change = p._cont_bern_log_norm() - q._cont_bern_log_norm() + _logsigmoid(-p.logits) - _logsigmoid(-q.logits)
    return change + p.mean * (p.logits - q.logits)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = p.scale / q.scale
    shape = q.alpha / p.alpha
    result = q.alpha * ratio.log() - shape.log() + shape - 1
    return _C.where(ratio < 1, math.inf, result)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _C.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    """That of the bases: the same bijection changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("the divergence of distributions with different transforms is not known")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the divergence of Independents of different reinterpreted_batch_ndims is not known")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
