"""Multivariate normal distributions whose covariance is of low rank but for its diagonal."""

from __future__ import annotations

import math

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from .distribution import Located
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, common_batch, lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Located):
    """Normal vectors of mean `loc` and covariance `W Wᵀ + diag(D)`, where `W` is `cov_factor` and `D` `cov_diag`.

    Work grows with the number of elements, times the square of the rank: systems are solved by way of the capacitance matrix `I + Wᵀ D⁻¹ W`
    (Woodbury's identity), whose determinant is that of the covariance over that of `D`.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1 or cov_diag.dim() < 1:
            raise ValueError("loc and cov_diag must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m, got {tuple(cov_factor.shape)}")
        if cov_diag.shape[-1] != n:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {n}, got {tuple(cov_diag.shape)}")
        self.loc, self.cov_factor, self.cov_diag = common_batch((loc, 1), (cov_factor, 2), (cov_diag, 1))
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args=validate_args)

    @property
    def _capacitance_tril(self):
        return _batch_capacitance_tril(self.cov_factor, self.cov_diag)

    @lazy_property
    def variance(self):
        return self.cov_factor.square().sum(-1) + self.cov_diag

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance: `D^½` times that of the covariance of variables divided by it."""
        scale = self.cov_diag.sqrt().unsqueeze(-1)
        scaled = self.cov_factor / scale
        eye = _C.eye(self._event_shape[0], dtype=scale.dtype, device=scale.device)
        return scale * _C.linalg.cholesky(scaled @ scaled.mT + eye)

    @lazy_property
    def covariance_matrix(self):
        """`W Wᵀ + diag(D)`."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, `D⁻¹ - D⁻¹ W (I + Wᵀ D⁻¹ W)⁻¹ Wᵀ D⁻¹`."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        solved = _C.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - solved.mT @ solved

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        of_factor = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        of_diag = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self.cov_factor, of_factor) + self.cov_diag.sqrt() * of_diag

    def log_prob(self, value):
        self._check_value(value)
        capacitance = self._capacitance_tril
        distance = _batch_lowrank_mahalanobis(self.cov_factor, self.cov_diag, value - self.loc, capacitance)
        log_det = _batch_lowrank_logdet(self.cov_factor, self.cov_diag, capacitance)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _batch_lowrank_logdet(self.cov_factor, self.cov_diag, self._capacitance_tril)
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + log_det)


def _batch_capacitance_tril(W, D):
    """The lower Cholesky factor of `I + Wᵀ D⁻¹ W`."""
    eye = _C.eye(W.shape[-1], dtype=W.dtype, device=W.device)
    return _C.linalg.cholesky(eye + (W.mT / D.unsqueeze(-2)) @ W)


def _batch_lowrank_logdet(W, D, capacitance_tril):
    """`log det(W Wᵀ + diag(D))`."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    """`xᵀ (W Wᵀ + diag(D))⁻¹ x`."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.square() / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)
