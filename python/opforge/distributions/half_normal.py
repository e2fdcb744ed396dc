"""The half-normal distribution, and what it has in common with others that are folded at 0."""

from __future__ import annotations

import math

from .. import _core as _C
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfNormal"]


class Folded(TransformedDistribution):
    """Magnitudes of a variable that is symmetric around 0, of some `scale`."""

    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, base, validate_args):
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The scale of the unfolded distribution."""
        return self.base_dist.scale

    @property
    def mode(self):
        return _C.zeros_like(self.scale)

    def log_prob(self, value):
        self._check_value(value)
        value = _C.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        inside = self.base_dist.log_prob(value.abs()) + math.log(2)
        return _C.where(value >= 0, inside, -math.inf)

    def cdf(self, value):
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Folded):
    """Magnitudes of normal variables around 0, of deviation `scale`."""

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale**2 * (1 - 2 / math.pi)
