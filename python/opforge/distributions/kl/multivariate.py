"""Divergences of multivariate normal distributions, with covariances in full or of low rank."""

from __future__ import annotations

from ... import _core as _C
from ..lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from ..multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .registry import register_kl


def _normal_divergence(log_dets, trace, distance, n):
    """`½ (log det Σq - log det Σp + tr(Σq⁻¹ Σp) + distance - n)`."""
    return 0.5 * (log_dets[1] - log_dets[0] + trace + distance - n)


def _check_sizes(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(f"kl_divergence: vectors of {p.event_shape[0]} and of {q.event_shape[0]} elements, expected as many")


def _low_rank_log_det(d):
    return _batch_lowrank_logdet(d.cov_factor, d.cov_diag, d._capacitance_tril)


def _trace_under(factor, columns):
    """`tr((L Lᵀ)⁻¹ C Cᵀ)` for a Cholesky factor `L` and columns `C`."""
    return _C.linalg.solve_triangular(factor, columns, upper=False).square().sum((-2, -1))


def _trace_under_low_rank(q, columns):
    """`tr(Σq⁻¹ C Cᵀ)` for a covariance of low rank."""
    projected = (q.cov_factor.mT / q.cov_diag.unsqueeze(-2)) @ columns
    full = (columns.square() / q.cov_diag.unsqueeze(-1)).sum((-2, -1))
    return full - _trace_under(q._capacitance_tril, projected)


@register_kl(MultivariateNormal, MultivariateNormal)
def _full_full(p, q):
    _check_sizes(p, q)
    trace = _trace_under(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril)
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return _normal_divergence((2 * p._half_log_det(), 2 * q._half_log_det()), trace, distance, p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_low_rank(p, q):
    _check_sizes(p, q)
    trace = _trace_under_low_rank(q, p._unbroadcasted_scale_tril)
    distance = _batch_lowrank_mahalanobis(q.cov_factor, q.cov_diag, q.loc - p.loc, q._capacitance_tril)
    return _normal_divergence((2 * p._half_log_det(), _low_rank_log_det(q)), trace, distance, p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_full(p, q):
    _check_sizes(p, q)
    trace = _trace_under(q._unbroadcasted_scale_tril, p.cov_factor) + _trace_under(q._unbroadcasted_scale_tril, p.cov_diag.sqrt().diag_embed())
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return _normal_divergence((_low_rank_log_det(p), 2 * q._half_log_det()), trace, distance, p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank_low_rank(p, q):
    _check_sizes(p, q)
    trace = _trace_under_low_rank(q, p.cov_factor) + _trace_under_low_rank(q, p.cov_diag.sqrt().diag_embed())
    distance = _batch_lowrank_mahalanobis(q.cov_factor, q.cov_diag, q.loc - p.loc, q._capacitance_tril)
    return _normal_divergence((_low_rank_log_det(p), _low_rank_log_det(q)), trace, distance, p.event_shape[0])
