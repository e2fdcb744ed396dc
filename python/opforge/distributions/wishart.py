"""The Wishart distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from ._gamma import log_standard_gamma
from .exp_family import ExponentialFamily
from .multivariate_normal import MatrixForms, factor_of
from .utils import _standard_normal, common_batch

__all__ = ["Wishart"]


class Wishart(MatrixForms, ExponentialFamily):
    """Sums of the outer products of `df` normal vectors with themselves; their covariance is said by one of the other parameters. `df` need not be
    an integer, but must exceed the size of the matrices less 1."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        form, matrix = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        if matrix.shape[-1] != matrix.shape[-2]:
            raise ValueError(f"{form} must be square, got {tuple(matrix.shape[-2:])}")
        df = df if isinstance(df, _C.Tensor) else _C.tensor(float(df), dtype=matrix.dtype, device=matrix.device)
        self.df, expanded = common_batch((df, 0), (matrix, 2))
        setattr(self, form, expanded)
        super().__init__(self.df.shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(form, matrix)

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @property
    def _half_dfs(self):
        """`(df - i) / 2` for each row."""
        rows = _C.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return (self.df.unsqueeze(-1) - rows) / 2

    def _per_matrix(self, value):
        return value.unsqueeze(-1).unsqueeze(-1)

    @property
    def mean(self):
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self):
        """NaN where `df` is less than the size and 1."""
        factor = self.df - self._event_shape[-1] - 1
        return self._per_matrix(factor.masked_fill(factor <= 0, float("nan"))) * self.covariance_matrix

    @property
    def variance(self):
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self._per_matrix(self.df) * (V.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape=Size(), max_try_correction=None):
        """By Bartlett's decomposition: `L A Aᵀ Lᵀ`, where `A` has roots of chi-squared variables on its diagonal and normal ones below it. No
        sample is drawn anew, so `max_try_correction` is ignored."""
        shape = self._extended_shape(sample_shape)
        # χ² of k degrees of freedom is twice a gamma variable of concentration k / 2.
        logs = log_standard_gamma(self._half_dfs.expand(shape[:-1])) + math.log(2)
        factor = _standard_normal(shape, self.df.dtype, self.df.device).tril(-1) + (logs / 2).exp().diag_embed()
        factor = self._unbroadcasted_scale_tril @ factor
        return factor @ factor.mT

    def log_prob(self, value):
        self._check_value(value)
        p, df = self._event_shape[-1], self.df
        log_det = 2 * _C.linalg.cholesky(value).diagonal(dim1=-2, dim2=-1).log().sum(-1)
        trace = _C.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        norm = df * (p / 2 * math.log(2) + self._half_log_det()) + _C.mvlgamma(df / 2, p)
        return (df - p - 1) / 2 * log_det - trace / 2 - norm

    def entropy(self):
        p, df = self._event_shape[-1], self.df
        mean_log = self._half_dfs.digamma().sum(-1)
        scale = (p + 1) * (p / 2 * math.log(2) + self._half_log_det())
        return scale + _C.mvlgamma(df / 2, p) - (df - p - 1) / 2 * mean_log + df * p / 2

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half_df = y + (p + 1) / 2
        return half_df * -_C.linalg.slogdet(-x)[1] + _C.mvlgamma(half_df, p)
