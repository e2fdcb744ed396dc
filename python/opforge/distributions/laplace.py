"""The Laplace distribution."""

from __future__ import annotations

import math

from .._tensors.size import Size
from .distribution import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Density `exp(-|x - loc| / scale) / (2 scale)`."""

    @property
    def variance(self):
        return 2 * self.scale**2

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        # The difference of two exponential variables.
        return self.loc + self.scale * (self.loc.new_empty(shape).exponential_() - self.loc.new_empty(shape).exponential_())

    def log_prob(self, value):
        self._check_value(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        self._check_value(value)
        z = (value - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self):
        return 1 + math.log(2) + self.scale.log()
