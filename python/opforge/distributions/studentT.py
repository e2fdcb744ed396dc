"""Student's t-distribution."""

from __future__ import annotations

import math

from .._tensors.size import Size
from . import constraints
from ._gamma import log_standard_gamma
from .distribution import Located
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Located):
    """`loc + scale * N / sqrt(χ² / df)` of a normal and a chi-squared variable of `df` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        """NaN where there is none: for `df` up to 1."""
        return self.loc.masked_fill(self.df <= 1, float("nan"))

    @property
    def variance(self):
        """Infinite for `df` up to 2, NaN up to 1."""
        finite = self.scale**2 * self.df / (self.df - 2)
        return finite.masked_fill(self.df <= 2, float("inf")).masked_fill(self.df <= 1, float("nan"))

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        half = self.df / 2
        # sqrt(df / χ²), by logarithms: small χ² underflow.
        return self.loc + self.scale * normal * ((half.log() - log_standard_gamma(half.expand(shape))) / 2).exp()

    def log_prob(self, value):
        self._check_value(value)
        z = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1) * (z**2 / self.df).log1p() - norm

    def _log_beta(self):
        """The logarithm of the beta function at `df / 2` and 1/2."""
        return (0.5 * self.df).lgamma() + 0.5 * math.log(math.pi) - (0.5 * (self.df + 1)).lgamma()

    def entropy(self):
        slope = (0.5 * (self.df + 1)).digamma() - (0.5 * self.df).digamma()
        return self.scale.log() + 0.5 * (self.df + 1) * slope + 0.5 * self.df.log() + self._log_beta()
