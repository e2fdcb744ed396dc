"""The Cauchy distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from .._tensors.size import Size
from .distribution import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Ratios of two normal variables: median `loc`, half width at half maximum `scale`, no mean."""

    @property
    def mean(self):
        """NaN: there is none."""
        return _C.full_like(self.loc, float("nan"))

    @property
    def variance(self):
        return _C.full_like(self.loc, float("inf"))

    def rsample(self, sample_shape=Size()):
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value):
        self._check_value(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z * z).log1p()

    def cdf(self, value):
        self._check_value(value)
        return _C.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return _C.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
