"""The Laplace distribution."""

from __future__ import annotations

import math

from .._tensors.size import Size
from . import constraints
from .distribution import Parametric
from .utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Parametric):
    """Density `exp(-|x - loc| / scale) / (2 scale)`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale**2

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        # The difference of two exponential variables.
        return self.loc + self.scale * (self.loc.new_empty(shape).exponential_() - self.loc.new_empty(shape).exponential_())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self):
        return 1 + math.log(2) + self.scale.log()
